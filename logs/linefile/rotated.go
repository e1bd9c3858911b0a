package linefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

const zstdExtension = ".zst"

var rotatedName = regexp.MustCompile(`^-\d{8}T\d{6}\.\d{6}(-\d+)?$`)

// tidy compresses the rotated files of a line file, and deletes old ones; because of their age only if the clock is trusted. When ctx is
// canceled it leaves the rest to the next time.
func (l *Config) tidy(ctx context.Context, path string, now time.Time, right bool) error {
	olds, err := rotatedFiles(path)
	if err != nil {
		return err
	}
	var wrong []error
	if l.Compress {
		for i, name := range olds {
			if strings.HasSuffix(name, zstdExtension) {
				continue
			}
			err := compressFile(ctx, name)
			if ctx.Err() != nil {
				return errors.Join(wrong...)
			}
			if err != nil {
				wrong = append(wrong, err)
				continue
			}
			olds[i] += zstdExtension
		}
	}
	return errors.Join(append(wrong, l.prune(path, olds, now, right))...)
}

// prune deletes rotated files that are too old, and the oldest ones if all are too large.
func (l *Config) prune(path string, olds []string, now time.Time, right bool) error {
	total := int64(0)
	if info, err := os.Stat(path); err == nil {
		total = info.Size()
	}
	var wrong []error
	for _, name := range slices.Backward(olds) {
		info, err := os.Stat(name)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		total += info.Size()
		if right && l.MaxAge > 0 && now.Sub(info.ModTime()) > l.MaxAge || l.MaxTotal > 0 && total > l.MaxTotal {
			wrong = append(wrong, os.Remove(name))
		}
	}
	return errors.Join(wrong...)
}

// rotatedFiles returns the rotated files of a line file, the oldest first.
func rotatedFiles(path string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	extension := filepath.Ext(path)
	begin := strings.TrimSuffix(filepath.Base(path), extension)
	for _, entry := range entries {
		middle, begins := strings.CutPrefix(entry.Name(), begin)
		middle, ends := strings.CutSuffix(strings.TrimSuffix(middle, zstdExtension), extension)
		if begins && ends && rotatedName.MatchString(middle) && entry.Type().IsRegular() {
			names = append(names, filepath.Join(filepath.Dir(path), entry.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

// compressStep is the number of bytes that are compressed between two checks whether to go on.
const compressStep = 1 << 20

// compressFile replaces a file by a compressed one. After an error, a cancellation or a crash the original is still there.
func compressFile(ctx context.Context, name string) (err error) {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	part := name + zstdExtension + ".part"
	out, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = out.Close()
			if gone := os.Remove(part); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
			err = fmt.Errorf("compress %s: %w", name, err)
		}
	}()
	writer, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return err
	}
	for err == nil {
		if err = context.Cause(ctx); err == nil {
			_, err = io.CopyN(writer, in, compressStep)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err = writer.Close(); err != nil {
		return err
	}
	if err = out.Sync(); err != nil {
		return err
	}
	if err = out.Close(); err != nil {
		return err
	}
	if err = os.Chtimes(part, info.ModTime(), info.ModTime()); err != nil {
		return err
	}
	if err = os.Rename(part, name+zstdExtension); err != nil {
		return err
	}
	return os.Remove(name)
}
