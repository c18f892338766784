package fault

import "strings"

// tablePrefix begins the names of our tables. Nothing else is ever deleted.
const tablePrefix = "brunt_"

func oursByName(table string) bool {
	return strings.HasPrefix(table, tablePrefix) && len(table) > len(tablePrefix)
}
