package report

import (
	"bytes"
	"io"

	"brunt/lab"
)

// WriteFolder writes to a folder what is made from a result: report.md and
// report.html, then result.json, which comes last. The page is made while the rest
// is. What the folder cannot take is named once: the others would say the same.
func WriteFolder(folder *lab.Folder, r *lab.Result, env *lab.Environment) error {
	page := make(chan error, 1)
	go func() {
		page <- folder.Write(lab.PageFile, func(w io.Writer) error { return HTML(w, r, env) })
	}()
	err := folder.Write(lab.ReportFile, func(w io.Writer) error { return Markdown(w, r, env) })
	var result bytes.Buffer
	if err == nil {
		err = JSON(&result, r)
	}
	if lost := <-page; err == nil {
		err = lost
	}
	if err != nil {
		return err
	}
	return folder.Write(lab.ResultFile, func(w io.Writer) error {
		_, err := result.WriteTo(w)
		return err
	})
}
