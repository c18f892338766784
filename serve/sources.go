package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"brunt/lab"
	"brunt/study"
)

// mostStudy is the size of a study file, at most, in bytes.
const mostStudy = 1 << 20

// mostOffered bounds the files of a folder that are offered.
const mostOffered = 100

// source is a study that can be tried.
type source struct {
	id       string // in an address: the name of a built-in study, ./FILE, or run:PATH
	argument string // of brunt run
	question string // of a built-in study
	text     []byte // but of a built-in study
}

// errNoStudy says that there is no such study, or that it is not offered.
var errNoStudy = errors.New("no such study")

// offered lists the studies that can be named without a run.
func (s *Server) offered() (all []source) {
	for _, b := range study.BuiltIn() {
		all = append(all, source{id: b.Name, argument: b.Name, question: b.Question})
	}
	for _, file := range s.files() {
		all = append(all, source{id: file, argument: file})
	}
	return all
}

// unfitBuiltIns lists the built-in studies that are refused.
func unfitBuiltIns() (names []string) {
	for _, b := range study.BuiltIn() {
		if _, err := (source{argument: b.Name}).read(nil); err != nil {
			names = append(names, b.Name)
		}
	}
	return names
}

// begins is how a study begins: with its name, at the left.
var begins = regexp.MustCompile(`(?m)^study:[ \t]*[^\s#]`)

// files lists the studies of the files and folders that the server was given, by
// paths that no built-in study has.
func (s *Server) files() (all []string) {
	for _, given := range s.config.Studies {
		info, err := os.Stat(given)
		switch {
		case err != nil:
		case info.IsDir():
			entries, _ := os.ReadDir(given) // what can be read of it
			for _, e := range entries {
				name := filepath.Join(given, e.Name())
				if ext := filepath.Ext(name); (ext == ".yaml" || ext == ".yml") && len(all) < mostOffered && e.Type().IsRegular() {
					if text, err := readStudy(name); err == nil && begins.Match(text) {
						all = append(all, pathLike(name))
					}
				}
			}
		case info.Mode().IsRegular():
			all = append(all, pathLike(given))
		}
	}
	return all
}

// pathLike writes a file's path so that it is not taken for a built-in study.
func pathLike(file string) string {
	if file = filepath.ToSlash(file); !strings.ContainsRune(file, '/') {
		return "./" + file
	}
	return file
}

func readStudy(file string) ([]byte, error) {
	f, err := os.Open(filepath.FromSlash(file))
	if err != nil {
		return nil, fmt.Errorf("read a study: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostStudy+1))
	if err != nil {
		return nil, fmt.Errorf("read a study: %w", err)
	}
	return text, nil
}

// source finds a study by its id: one that is offered, or that of a run.
func (s *Server) source(id string) (source, error) {
	if run, ok := strings.CutPrefix(id, "run:"); ok {
		text, err := s.studyOf(run)
		if err != nil {
			return source{}, errNoStudy
		}
		file := filepath.Join(s.config.Folder, filepath.FromSlash(run), lab.StudyFile)
		return source{id: id, argument: pathLike(file), text: text}, nil
	}
	all := s.offered()
	i := slices.IndexFunc(all, func(one source) bool { return one.id == id })
	if i < 0 {
		return source{}, errNoStudy
	}
	one := all[i]
	if one.question != "" {
		return one, nil
	}
	var err error
	one.text, err = readStudy(one.id)
	return one, err
}

// nowhere is a folder that cannot be: nothing is found in it.
var nowhere = filepath.Join(os.DevNull, "nowhere")

// read reads a study with settings. The error says what is wrong with it, or why
// it is not run here: see [refusal]. No file beside it is read.
func (f source) read(sets []string) (*study.Study, error) {
	o := study.Options{Sets: sets, Measure: lab.CheckName}
	name := f.argument
	if f.text != nil {
		if why := namesFiles(f.text); why != "" {
			return nil, refusal(why)
		}
		name, o.Stdin, o.Folder = "-", bytes.NewReader(f.text), nowhere
	}
	s, err := study.Read(name, o)
	var faults study.Errors
	if errors.As(err, &faults) {
		for i := range faults {
			if faults[i].File == "stdin" {
				faults[i].File = f.argument
			}
		}
		return nil, faults
	} else if err != nil {
		return nil, err
	}
	if why := unfit(s); why != "" {
		return nil, refusal(why)
	}
	return s, nil
}
