package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"brunt/lab"
	"brunt/record/parquet"
	"brunt/report"
)

// errNoRun says that there is no run at a path, or that the path is none.
var errNoRun = errors.New("no run")

// openRun opens the folder of a run by its path below the folder. A path that
// leads out of there, by itself or through a link, is [errNoRun].
func (s *Server) openRun(run string) (*os.Root, error) {
	if !fs.ValidPath(run) {
		return nil, errNoRun
	}
	root, err := s.below()
	if err != nil {
		return nil, errNoRun
	}
	defer root.Close()
	in, err := root.OpenRoot(run)
	if err != nil {
		return nil, errNoRun
	}
	if info, err := in.Stat(lab.ResultFile); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errNoRun, in.Close())
	}
	return in, nil
}

// path is a run's folder as a command of this terminal takes it.
func (s *Server) path(run string) string {
	return filepath.Join(s.config.Folder, filepath.FromSlash(run))
}

// report answers with the report of a run: report.html as it stands there, or
// made from the rest when it does not.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	run := r.URL.Query().Get("run")
	in, err := s.openRun(run)
	if err != nil {
		s.nothing(w)
		return
	}
	defer in.Close()
	f, err := openFile(in, lab.PageFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.made(w, r, in, run)
		return
	case err != nil:
		s.nothing(w)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() > mostPage {
		s.refuse(w, http.StatusRequestEntityTooLarge, "Too large", fmt.Sprintf("Its %s has more than %d MB: open it as a file.", lab.PageFile, mostPage>>20))
		return
	}
	protectReport(w.Header())
	w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	_, _ = io.Copy(w, io.LimitReader(f, info.Size())) // nobody is there any more
}

// made answers with a report that is made for it, and not written.
func (s *Server) made(w http.ResponseWriter, r *http.Request, in *os.Root, run string) {
	result, env, err := s.remake(r.Context(), in, run)
	var page bytes.Buffer
	if err == nil {
		err = report.HTML(&page, result, env)
	}
	if err != nil {
		s.refuse(w, http.StatusUnprocessableEntity, "No report", "The report of "+run+" cannot be made: "+err.Error())
		return
	}
	sendReport(w, page.Bytes())
}

// keepPlace puts a script of ours into a report. It stands before the report's own
// policy, which knows that report's script alone; the policy that comes with the
// answer lets it run and send nothing.
func keepPlace(page []byte) []byte {
	head := []byte("<head>\n")
	return bytes.Replace(page, head, slices.Concat(head, []byte("<script>"+placeScript+"</script>\n")), 1)
}

func sendReport(w http.ResponseWriter, page []byte) {
	protectReport(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	_, _ = w.Write(page) // nobody is there any more
}

// remake reads a result and, where that is safe, makes it again from its rows,
// for the pictures that need them. A result that cannot be had from its rows is
// taken as it was written.
func (s *Server) remake(ctx context.Context, in *os.Root, run string) (*lab.Result, *lab.Environment, error) {
	stored, env := &lab.Result{}, &lab.Environment{}
	if err := readResult(in, ".", stored); err != nil {
		return nil, nil, err
	}
	if err := readJSON(in, lab.EnvironmentFile, env); err != nil {
		return nil, nil, err
	}
	if !s.ownRows(in, stored) {
		return stored, env, nil
	}
	leave, err := s.trials.enter(ctx, s.limits.waiting)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	folder, result, env2, err := lab.Open(s.path(run))
	if err != nil {
		return stored, env, nil
	}
	return result, env2, folder.Close()
}

// ownRows reports whether a run has rows that can be read without leaving its
// folder, and not too many. Links are not followed there, and a study that names
// files is not read: package lab knows nothing of where it may look.
func (s *Server) ownRows(in *os.Root, r *lab.Result) bool {
	if info, err := in.Lstat(parquet.RequestsFile); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := readFile(in, lab.StudyFile, mostStudy)
	if err != nil || namesFiles(text) != "" {
		return false
	}
	requests := int64(0)
	for _, repeat := range append([]lab.Repeat{{Compositions: r.Compositions}}, r.Repeats...) {
		for i := range repeat.Compositions {
			requests += repeat.Compositions[i].Whole.Offered
		}
	}
	if requests > s.limits.requests {
		return false
	}
	err = fs.WalkDir(in.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = fmt.Errorf("%s is a link or a device", name)
		}
		return err
	})
	return err == nil
}

// studyOf returns the text of the study of a run.
func (s *Server) studyOf(run string) ([]byte, error) {
	in, err := s.openRun(run)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readFile(in, lab.StudyFile, mostStudy)
}
