package fetch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
)

// A folder is where bodies are saved. Nothing is written outside it.
type folder struct {
	root      *os.Root
	overwrite bool
}

// openFolder opens the folder, makes it if it is missing, and makes sure that it can be written to.
func openFolder(name string, overwrite bool) (*folder, error) {
	if err := os.MkdirAll(name, 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	f := &folder{root, overwrite}
	if err := f.probe(); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("--out: write to folder %s: %w", name, err)
	}
	return f, nil
}

func (f *folder) probe() error {
	file, name, err := f.temporary("probe")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), f.root.Remove(name))
}

func (f *folder) close() {
	if f != nil {
		_ = f.root.Close()
	}
}

// temporary makes a file that becomes the one called name.
func (f *folder) temporary(name string) (*os.File, string, error) {
	name = name + "." + rand.Text()[:12] + ".part"
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return file, name, err
}

// free returns an error when the file for a URL exists and is to stay.
func (f *folder) free(u *url.URL) error {
	name := fileName(u)
	if f.overwrite {
		return nil
	}
	if _, err := f.root.Lstat(name); err == nil {
		return existsError(name)
	}
	return nil
}

func existsError(name string) error {
	return &finalError{classFile, fmt.Errorf("file %s exists (replace it with --overwrite)", name)}
}

// save writes a body to the file for its URL, which is there once it is complete.
func (f *folder) save(u *url.URL, body io.Reader) (name string, n int64, err error) {
	name = fileName(u)
	file, part, err := f.temporary(name)
	if err != nil {
		return "", 0, &finalError{classFile, err}
	}
	n, err = io.Copy(localWriter{file}, body)
	if closed := file.Close(); err == nil && closed != nil {
		err = &finalError{classFile, closed}
	}
	if err == nil {
		err = f.publish(part, name)
	}
	if err != nil {
		_ = f.root.Remove(part)
		return "", n, err
	}
	return name, n, nil
}

// publish gives a complete file its name. A link, other than a rename, fails where the name is taken.
func (f *folder) publish(part, name string) error {
	if !f.overwrite {
		err := f.root.Link(part, name)
		switch {
		case err == nil:
			_ = f.root.Remove(part)
			return nil
		case errors.Is(err, fs.ErrExist):
			return existsError(name)
		}
		// A file system without links: look, then rename.
		if _, err := f.root.Lstat(name); err == nil {
			return existsError(name)
		}
	}
	if err := f.root.Rename(part, name); err != nil {
		return &finalError{classFile, err}
	}
	return nil
}

// A localWriter tells failures of the disk from those of the network.
type localWriter struct{ w io.Writer }

func (l localWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if err != nil {
		err = &finalError{classFile, err}
	}
	return n, err
}
