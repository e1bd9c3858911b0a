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

// A folder is the folder for saved bodies. No file is written outside it.
type folder struct {
	root      *os.Root
	overwrite bool
}

// openFolder opens the folder, creates it if it is missing, and checks that it is writable.
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

// temporary creates a temporary file that will be renamed to name.
func (f *folder) temporary(name string) (*os.File, string, error) {
	name = name + "." + rand.Text()[:12] + ".part"
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return file, name, err
}

// free returns an error if the file for a URL exists and must not be overwritten.
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

// save writes a body to the file for its URL, which appears only when it is complete.
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

// publish gives a complete file its name. Unlike a rename, a link fails if the name exists.
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
		// The file system does not support links: check the name, then rename.
		if _, err := f.root.Lstat(name); err == nil {
			return existsError(name)
		}
	}
	if err := f.root.Rename(part, name); err != nil {
		return &finalError{classFile, err}
	}
	return nil
}

// A localWriter marks write errors, to distinguish them from network errors.
type localWriter struct{ w io.Writer }

func (l localWriter) Write(p []byte) (int, error) {
	n, err := l.w.Write(p)
	if err != nil {
		err = &finalError{classFile, err}
	}
	return n, err
}
