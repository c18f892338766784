package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"brunt/check"
	"brunt/dependency"
)

// recordingsFolder is where a study that replays keeps its recordings, beside
// itself.
const recordingsFolder = "recordings"

// recordings is what the reader knows of the recordings that a study replays.
type recordings struct {
	byName map[string]*dependency.Recording // by the file that the study then names: one for each
	chosen map[selection]string             // those files
	moved  bool                             // the study now names a file where it named a folder
}

// selection is a part of a run's rows.
type selection struct{ folder, target, phase, composition string }

// replaySetting is a replay that is being read.
type replaySetting struct {
	*dependency.Replay
	r     *reader
	steps []string // where it stands
	file  string   // where what it names is
}

// fail notes what is wrong with the setting, or with a field of it.
func (s *replaySetting) fail(field, value, want string) {
	path := strings.Join(s.steps, ".")
	if field != "" {
		path = join(path, field)
	}
	want = strings.ReplaceAll(want, "\n", "; ") // of several files, each a fault of its own
	s.r.errs = append(s.r.errs, s.r.at(s.r.places.of(path), path, strconv.Quote(clip(value)), want))
}

// replays fills in the recording of a behaviour. A run's folder is large, and
// somewhere else: what a study needs of it is distilled into a file beside the
// study, and that is what the study names from then on, so that its results can
// be had again without the folder.
func (r *reader) replays(b *dependency.Behaviour, steps ...string) {
	if b.Replay == nil || strings.TrimSpace(b.Replay.Folder) == "" {
		return
	}
	if r.recordings.byName == nil {
		r.recordings.byName, r.recordings.chosen = map[string]*dependency.Recording{}, map[selection]string{}
	}
	s := &replaySetting{Replay: b.Replay, r: r, steps: append(slices.Clone(steps), "replay"), file: filepath.FromSlash(b.Replay.Folder)}
	if !filepath.IsAbs(s.file) {
		s.file = filepath.Join(r.folder, s.file) // a built-in study has none: then it is the working directory
	}
	if r.holds(s.Folder) { // it may be nowhere else
		s.file = ""
		s.written(true)
		return
	}
	switch info, err := os.Stat(s.file); {
	case err != nil:
		s.fail("", s.Folder, fmt.Sprintf("cannot be read: %v: expected the folder of a run, or a recording", err))
	case info.IsDir():
		s.distilled(steps[len(steps)-1])
	case !info.Mode().IsRegular():
		s.fail("", s.Folder, "is not a regular file, nor a folder")
	default:
		s.written(r.folder != "" && filepath.IsLocal(filepath.FromSlash(s.Folder)))
	}
}

// written takes a recording from a file. One that is not the study's own is
// copied.
func (s *replaySetting) written(own bool) {
	for _, c := range []struct{ field, value string }{{"from", s.From}, {"phase", s.Phase}, {"composition", s.Composition}} {
		if c.value != "" {
			s.fail(c.field, c.value, "this recording holds one choice of a run's attempts already: expected the folder of the run, to choose anew")
			return
		}
	}
	if s.Recording = s.r.recordings.byName[s.Folder]; s.Recording != nil && own {
		return
	}
	var data []byte
	var want string
	if own {
		data, want = s.r.load(s.Folder)
	} else {
		data, want = readFile(s.file)
	}
	if want != "" {
		s.fail("", s.Folder, want)
		return
	}
	parser, before := recordingParser{}, len(s.r.errs)
	s.r.scan(s.Folder, data, func(want string) { s.fail("", s.Folder, want) }, parser.line)
	if !parser.begun || parser.refused {
		s.fail("", s.Folder, "is no recording of brunt: expected the folder of a run, or a file from its "+recordingsFolder)
		return
	}
	recording, want := parser.end()
	if want != "" {
		if len(s.r.errs) == before { // else that follows from a fault in a line
			s.fail("", s.Folder, want)
		}
		return
	}
	name := s.Folder
	if !own {
		name = s.r.addRecording(recording.Origin.Target, data)
	}
	s.use(name, recording)
}

// distilled takes a recording out of a run's folder.
func (s *replaySetting) distilled(called string) {
	run, err := openRun(s.file)
	if err != nil {
		s.fail("", s.Folder, err.Error())
		return
	}
	chosen := selection{s.file, s.From, s.Phase, s.Composition}
	if chosen.target == "" {
		if chosen.target = run.like(called); chosen.target == "" {
			s.fail("", s.Folder, fmt.Sprintf("holds attempts at %s, and none at %s: expected one of them as from", strings.Join(run.targets, ", "), called))
			return
		}
	}
	name := s.r.recordings.chosen[chosen]
	if name == "" {
		recording, fault := run.distil(chosen)
		if fault != nil {
			s.fail(fault.field, cmp.Or(fault.value, s.Folder), fault.want)
			return
		}
		name = s.r.addRecording(chosen.target, writeRecording(recording))
		s.r.recordings.chosen[chosen] = name
		s.use(name, recording)
		return
	}
	s.use(name, nil)
}

// holds reports whether a file is there already.
func (r *reader) holds(name string) bool {
	return slices.ContainsFunc(r.files, func(f File) bool { return f.Name == name })
}

// addRecording adds a copy to the files of the study, and returns its name.
func (r *reader) addRecording(target string, data []byte) string {
	sum := sha256.Sum256(data)
	name := recordingsFolder + "/" + target + "-" + hex.EncodeToString(sum[:4]) + ".txt"
	if !r.holds(name) {
		r.files = append(r.files, File{name, data})
	}
	return name
}

// use has the study name a file, and nothing else. What that file holds is the
// same recording wherever it stands in.
func (s *replaySetting) use(name string, recording *dependency.Recording) {
	known := s.r.recordings.byName
	if known[name] == nil {
		known[name] = recording
	}
	moved := name != s.Folder
	*s.Replay = dependency.Replay{Folder: name, Recording: known[name]}
	if !moved {
		return
	}
	s.r.recordings.moved = true
	at := s.r.document.Content[0]
	for _, step := range s.steps {
		if i, err := strconv.Atoi(step); err == nil && at.Kind == yaml.SequenceNode {
			at = at.Content[i]
			continue
		}
		at = valueOf(at, step)
	}
	*at = yaml.Node{
		Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: at.Line, Column: at.Column,
		HeadComment: at.HeadComment, LineComment: at.LineComment, FootComment: at.FootComment,
	}
}

// Replayed is a dependency that a recording stands in for.
type Replayed struct {
	Dependency string
	Phases     []int // in which it does
	Recording  *dependency.Recording
}

// Replays lists the recordings of the study, dependency by dependency. One that
// is of use in several phases is listed once.
func (s *Study) Replays() (list []Replayed) {
	for _, name := range s.Dependencies.Names() {
		first := len(list)
		for i := range s.Phases {
			b := s.Behaviour(i, name)
			if !b.Replays() {
				continue
			}
			at := first
			for at < len(list) && list[at].Recording != b.Replay.Recording {
				at++
			}
			if at == len(list) {
				list = append(list, Replayed{Dependency: name, Recording: b.Replay.Recording})
			}
			list[at].Phases = append(list[at].Phases, i)
		}
	}
	return list
}

// checkReplays refuses recordings of what has calls of its own: those calls are
// in the recording, and would be made again.
func (s *Study) checkReplays(p check.Problems) {
	const want = "a service makes calls of its own, which are in a recording too: expected a dependency"
	for name, service := range s.Services.All() {
		if service.Replay != nil {
			p.In("services", name).Add("replay", "given", want)
		}
	}
	for i, phase := range s.Phases {
		for name, b := range phase.Dependencies.All() {
			if _, service := s.Services.Get(name); service && b.Replay != nil {
				p.In("phases", strconv.Itoa(i), "dependencies", name).Add("replay", "given", want)
			}
		}
	}
}
