// Package spool keeps the rows of a run that is still on: one file, which only
// grows, and from which the rows can be read when the run was killed. What was
// handed to the system survives the process; the spool does not wait for the
// disk, so a machine that loses power may lose more.
//
// A spool is a text that names it, and frames behind it. A frame is the length
// of its content and the content's CRC-32C, four bytes each with the low byte
// first, and the content. The content of the first frame is the [Header] as
// JSON. Any other holds the number of a composition, the instant up to which the
// run is known, and rows. Numbers are varints as package encoding/binary has
// them. The file ends where its last whole frame does; a part of a frame after
// that was being written when the run was killed, and is left out.
//
// A [Writer] may be used from any goroutine; a [Sink] belongs to the one that
// feeds it. A [Reader] may be used from several at once.
//
//	w, err := spool.Create("runs/outage/rows.spool", spool.Header{Compositions: []string{"retry"}}, nil)
//	sink := w.Composition(0)
//	sink.Request(&record.Request{ServedBy: -1})
//	sink.Reach(time.Second)
//	err = w.Close()
package spool

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// File is the name of the spool in a folder of results.
const File = "rows.spool"

// version is the version of the rows in a spool. It goes up with every change
// of the fields of package record or of the numbers of its enumerations: a spool
// is read by the brunt that wrote it, or one of its time.
const version = 1

// magic begins every spool.
const magic = "brunt rows spool\n"

// Header says what the rows are of.
type Header struct {
	Version      int             `json:"version"` // of the rows; set by Create
	Compositions []string        `json:"compositions"`
	Dependencies []string        `json:"dependencies"`    // by position in the study
	About        json.RawMessage `json:"about,omitempty"` // whatever the writer wants to find again
}

var checksums = crc32.MakeTable(crc32.Castagnoli)

// headSize is the size of what stands before a frame's content.
const headSize = 8

// mostFrame bounds the content of a frame. What claims to be longer is no frame.
const mostFrame = 1 << 28

// seal fills in the head of a frame that begins with headSize free bytes.
func seal(frame []byte) error {
	content := frame[headSize:]
	if len(content) > mostFrame {
		return fmt.Errorf("a frame of %d bytes is longer than the %d that can be read again", len(content), mostFrame)
	}
	binary.LittleEndian.PutUint32(frame, uint32(len(content)))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(content, checksums))
	return nil
}
