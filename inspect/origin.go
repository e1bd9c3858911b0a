package inspect

import (
	"path"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// A codeOrigin tells whose code a place is in.
type codeOrigin uint8

const (
	ofRuntime codeOrigin = iota // which parks goroutines
	ofLibrary                   // the rest of the standard library
	ofUs                        // the packages of this module that run tasks, or inspect them
	ofModule                    // a module that the program uses
	ofProgram                   // the program's own
)

// ourModule is the path of this module. Its packages that run or inspect tasks do not count as a program's code.
var ourModule = strings.TrimSuffix(reflect.TypeFor[Node]().PkgPath(), "/inspect")

var ourPackages = map[string]bool{
	ourModule: true, ourModule + "/internal/scope": true, ourModule + "/internal/goroutine": true,
	ourModule + "/inspect": true, ourModule + "/process": true, ourModule + "/tasklog": true,
}

// buildInfo describes where the code of the program is. It is read when it is first needed.
type buildInfo struct {
	module, library string   // the folders of this module and of the standard library; library is empty with -trimpath
	program         string   // the module that the program is built from
	modules         []string // the other modules
} // all folders end in a slash

var thisBuild = sync.OnceValue(func() (s buildInfo) {
	var pcs [1]uintptr
	runtime.Callers(1, pcs[:])
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	s.module = strings.TrimSuffix(path.Dir(f.File), "inspect")
	if f := runtime.FuncForPC(reflect.ValueOf(runtime.GC).Pointer()); f != nil {
		file, _ := f.FileLine(f.Entry())
		s.library = file[:strings.LastIndex(file, "runtime/")]
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return s
	}
	if info.Main.Path != "" {
		s.program = info.Main.Path + "/"
	}
	for _, m := range info.Deps {
		s.modules = append(s.modules, m.Path+"/")
	}
	return s
})

// homeOf returns the package of a file, if it is in this module or in the standard library. The name of a function is not enough: a function
// literal in an inlined function has the name of the function that it was inlined into.
func homeOf(file string) string {
	folder, name := path.Split(file)
	s := thisBuild()
	switch {
	case strings.HasPrefix(folder, s.module) && !strings.HasSuffix(name, "_test.go") && ourPackages[ourPackage(folder[len(s.module):])]:
		return ourPackage(folder[len(s.module):])
	case s.library != "" && strings.HasPrefix(folder, s.library):
		return strings.TrimSuffix(folder[len(s.library):], "/")
	case s.library == "" && folder != "" && folder != "command-line-arguments/" &&
		!strings.Contains(folder, ".") && !strings.HasPrefix(folder, s.program):
		return strings.TrimSuffix(folder, "/")
	}
	return ""
}

// ourPackage returns the path of the package in a folder of this module.
func ourPackage(folder string) string { return strings.TrimSuffix(ourModule+"/"+folder, "/") }

func ownerOf(pkg string) codeOrigin {
	first, _, _ := strings.Cut(pkg, "/")
	s := thisBuild()
	switch {
	case ourPackages[pkg]:
		return ofUs
	case pkg == "runtime", strings.HasPrefix(pkg, "internal/runtime/"):
		return ofRuntime
	case pkg == "main", s.program != "" && (strings.HasPrefix(pkg+"/", s.program) || pkg == strings.TrimSuffix(s.program, "/")+"_test"):
		return ofProgram
	case strings.Contains(first, "."):
		return ofModule
	}
	for _, m := range s.modules {
		if strings.HasPrefix(pkg+"/", m) {
			return ofModule
		}
	}
	return ofLibrary
}

// isKernelCall reports whether a function calls the kernel by the number of a system call.
func isKernelCall(pkg, function string) bool {
	return entersKernel(pkg) && strings.Contains(function[len(pkg):], "yscall")
}

// entersKernel reports whether a package has functions that call the kernel.
func entersKernel(pkg string) bool {
	return pkg == "syscall" || strings.HasPrefix(pkg, "internal/runtime/syscall") ||
		strings.HasPrefix(pkg, "internal/syscall/") || strings.HasPrefix(pkg, "golang.org/x/sys/")
}

// packageOf returns the path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}
