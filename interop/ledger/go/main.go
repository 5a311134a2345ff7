// Verifies a log's directory with the Go toolchain's own sumdb packages.
//
//	verify DIR [EARLIER-CHECKPOINT]
//
// Every entry is hashed and looked up in tiles that tlog authenticates against the signed root;
// the root is computed from the entries besides. Exit 0 good, 1 not.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type tiles struct{ dir string }

func (t tiles) Height() int                           { return 8 }
func (t tiles) SaveTiles(_ []tlog.Tile, _ [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range wanted {
		// sumdb says tile/8/<L>/<N>; tlog-tiles says tile/<L>/<N>.
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(t.dir, path))
		if err != nil {
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s: wrong length", path)
		}
		found = append(found, data)
	}
	return found, nil
}

func fail(what string, err error) {
	fmt.Fprintln(os.Stderr, what+":", err)
	os.Exit(1)
}

// One of the log's keys must have signed; which one is right is for others to say.
func open(path string, keys note.Verifiers) tlog.Tree {
	text, err := os.ReadFile(path)
	if err != nil {
		fail(path, err)
	}
	signed, err := note.Open(text, keys)
	if err != nil {
		fail(path, err)
	}
	lines := strings.Split(signed.Text, "\n")
	if len(lines) != 4 || lines[0] != signed.Sigs[0].Name {
		fail(path, fmt.Errorf("not a checkpoint of this log"))
	}
	var tree tlog.Tree
	if _, err := fmt.Sscanf(lines[1], "%d", &tree.N); err != nil {
		fail(path, err)
	}
	if tree.Hash, err = tlog.ParseHash(lines[2]); err != nil {
		fail(path, err)
	}
	return tree
}

func main() {
	dir := os.Args[1]
	text, err := os.ReadFile(filepath.Join(dir, "keys.txt"))
	if err != nil {
		fail("keys", err)
	}
	var list []note.Verifier
	for _, line := range strings.Fields(string(text)) {
		key, err := note.NewVerifier(line)
		if err != nil {
			fail("keys", err)
		}
		list = append(list, key)
	}
	keys := note.VerifierList(list...)
	tree := open(filepath.Join(dir, "checkpoint"), keys)
	reader := tlog.TileHashReader(tree, tiles{dir})
	var stored []tlog.Hash
	memory := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var found []tlog.Hash
		for _, index := range indexes {
			if index >= int64(len(stored)) {
				return nil, fmt.Errorf("not stored")
			}
			found = append(found, stored[index])
		}
		return found, nil
	})
	for bundle := int64(0); bundle*256 < tree.N; bundle++ {
		width := min(tree.N-bundle*256, 256)
		tile := tlog.Tile{H: 8, L: -1, N: bundle, W: int(width)}
		path := strings.Replace(tile.Path(), "tile/8/data/", "tile/entries/", 1)
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			fail(path, err)
		}
		var indexes []int64
		var hashes []tlog.Hash
		for at := int64(0); at < width; at++ {
			if len(data) < 2 {
				fail(path, fmt.Errorf("too short"))
			}
			length := int(binary.BigEndian.Uint16(data))
			if data = data[2:]; length == 0 || len(data) < length {
				fail(path, fmt.Errorf("too short"))
			}
			hash := tlog.RecordHash(data[:length])
			data = data[length:]
			more, err := tlog.StoredHashesForRecordHash(bundle*256+at, hash, memory)
			if err != nil {
				fail(path, err)
			}
			stored = append(stored, more...)
			hashes = append(hashes, hash)
			indexes = append(indexes, tlog.StoredHashIndex(0, bundle*256+at))
		}
		if len(data) != 0 {
			fail(path, fmt.Errorf("too long"))
		}
		found, err := reader.ReadHashes(indexes)
		if err != nil {
			fail("tiles", err)
		}
		for at, hash := range hashes {
			if found[at] != hash {
				fail("entry", fmt.Errorf("%d is not what the tiles say", bundle*256+int64(at)))
			}
		}
	}
	root, err := tlog.TreeHash(tree.N, memory)
	if err != nil || root != tree.Hash {
		fail("root", fmt.Errorf("the entries do not lead to it: %v", err))
	}
	if len(os.Args) > 2 {
		earlier := open(os.Args[2], keys)
		if earlier.N > tree.N {
			fail("rolled back", fmt.Errorf("%d entries, there were %d", tree.N, earlier.N))
		}
		proof, err := tlog.ProveTree(tree.N, earlier.N, reader)
		if err == nil {
			err = tlog.CheckTree(proof, tree.N, tree.Hash, earlier.N, earlier.Hash)
		}
		if err != nil {
			fail("rewritten", err)
		}
	}
}
