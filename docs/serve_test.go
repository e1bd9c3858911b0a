package docs_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestServeCommands runs the commands of the guides to the servers.
func TestServeCommands(t *testing.T) {
	testenv.LongTest(t)
	testenv.Program(t, "sh")
	folder := t.TempDir()
	putCommand(t, folder)
	for _, b := range slices.Concat(readBlocks(t, "serve.md"), readBlocks(t, "logs.md"), readBlocks(t, "logs-forward.md"), readBlocks(t, "scale.md")) {
		if b.kind != "sh" {
			continue
		}
		run := exec.CommandContext(t.Context(), "sh", "-ec", b.text)
		run.Dir = folder
		run.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestUnits lets systemd look at the units, with a program that is there in the place of ours.
func TestUnits(t *testing.T) {
	testenv.Program(t, "systemd-analyze")
	units, err := filepath.Glob("../deploy/*.service")
	if err != nil || len(units) < 2 {
		t.Fatal(units, err)
	}
	for _, name := range units {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		unit := filepath.Join(t.TempDir(), filepath.Base(name))
		there := strings.Replace(string(text), "ExecStart=/usr/local/bin/meanwhile", "ExecStart=/bin/true", 1)
		if err := os.WriteFile(unit, []byte(there), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("verify: %v\n%s", err, out)
		}
		if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=15", unit).CombinedOutput(); err != nil {
			t.Errorf("the unit may do too much: %v\n%s", err, out)
		}
	}
}

// TestDeployments checks the settings of the files for containers with the program itself.
func TestDeployments(t *testing.T) {
	testenv.LongTest(t)
	folder := t.TempDir()
	putCommand(t, folder)
	hash := exec.CommandContext(t.Context(), filepath.Join(folder, "meanwhile"), "serve", "hash-password")
	hash.Stdin = strings.NewReader("a long password\n")
	hashed, err := hash.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"users": "ada:admin:" + strings.TrimSpace(string(hashed)), "logs": "a key"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, setting := range map[string]*regexp.Regexp{
		"compose.yaml":    regexp.MustCompile(`(?m)^ +(MEANWHILE_\w+): (.*)$`),
		"kubernetes.yaml": regexp.MustCompile(`(?m)^ +- \{name: (MEANWHILE_\w+), value: (.*)\}$`),
	} {
		text, err := os.ReadFile("../deploy/" + file)
		if err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), filepath.Join(folder, "meanwhile"), "serve", "--check")
		run.Dir = folder
		run.Env = append(os.Environ(), "MEANWHILE_LISTEN=:7070", "MEANWHILE_STORE=postgres://meanwhile:x@postgres:5432/meanwhile") // as the image, and a secret
		help, err := exec.CommandContext(t.Context(), filepath.Join(folder, "meanwhile"), "serve", "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		helpOfLogs, err := exec.CommandContext(t.Context(), filepath.Join(folder, "meanwhile"), "logs", "serve", "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		settings := setting.FindAllStringSubmatch(string(text), -1)
		if len(settings) < 5 {
			t.Errorf("%s: %d settings were found", file, len(settings))
		}
		for _, s := range settings {
			value := strings.Trim(s[2], `"`)
			value = strings.NewReplacer("/run/secrets", folder, "/secrets", folder, "/data", folder, "${POSTGRES_PASSWORD}", "x").Replace(value)
			run.Env = append(run.Env, s[1]+"="+value)
			if !strings.Contains(string(help)+string(helpOfLogs), "$"+s[1]) {
				t.Errorf("%s: there is no setting %s", file, s[1])
			}
		}
		out, err := run.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "answer 1 user") || !strings.Contains(string(out), "logs: ") {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
	}
}

// TestKubernetesKeepsTheLogServer: while PostgreSQL is down, the pod is neither restarted nor unreachable, since its log server works.
func TestKubernetesKeepsTheLogServer(t *testing.T) {
	text, err := os.ReadFile("../deploy/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var object struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				PublishNotReadyAddresses bool `yaml:"publishNotReadyAddresses"`
				Template                 struct {
					Spec struct {
						Containers []struct {
							LivenessProbe struct {
								HTTPGet   any                   `yaml:"httpGet"`
								TCPSocket struct{ Port string } `yaml:"tcpSocket"`
							} `yaml:"livenessProbe"`
						}
					}
				}
			}
		}
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if object.Metadata.Name != "meanwhile" {
			continue
		}
		found = append(found, object.Kind)
		if object.Kind == "Service" && !object.Spec.PublishNotReadyAddresses {
			t.Error("the service leads to no pod while the store does not answer")
		}
		for _, c := range object.Spec.Template.Spec.Containers {
			if c.LivenessProbe.HTTPGet != nil || c.LivenessProbe.TCPSocket.Port != "http" {
				t.Errorf("got the liveness probe %+v", c.LivenessProbe)
			}
		}
	}
	if want := []string{"Service", "StatefulSet"}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}
