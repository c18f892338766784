package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// value is a part of a study as it is run: a mapping, a list, or a single value.
// The zero value is one that is not there.
type value struct {
	fields []member // of a mapping, in its order
	list   []*value
	text   string // of a single value, as --set takes it; "" for a word that says nothing
	number bool   // it is written as a number
}

// member is a field of a mapping.
type member struct {
	name string
	*value
}

// get returns a field; one that is not there is empty.
func (v *value) get(name string) *value {
	for _, f := range v.fields {
		if f.name == name {
			return f.value
		}
	}
	return &value{}
}

// parseConfig reads the configuration of a study, whose fields have an order.
func parseConfig(config json.RawMessage) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(config))
	d.UseNumber()
	v, err := parseValue(d)
	if err != nil {
		return nil, fmt.Errorf("read the settings of a study: %w", err)
	}
	return v, nil
}

func parseValue(d *json.Decoder) (*value, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &value{}
	switch t := token.(type) {
	case json.Delim:
		for d.More() {
			name := ""
			if t == '{' {
				key, err := d.Token()
				if err != nil {
					return nil, err
				}
				name, _ = key.(string)
			}
			in, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			if t == '{' {
				v.fields = append(v.fields, member{name, in})
			} else {
				v.list = append(v.list, in)
			}
		}
		if _, err := d.Token(); err != nil && err != io.EOF {
			return nil, err
		}
	case string:
		v.text = t
	case json.Number:
		v.text, v.number = t.String(), true
	}
	return v, nil
}
