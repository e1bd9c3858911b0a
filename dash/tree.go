package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	watchFor = 5 * time.Second // how long the worker keeps reporting the tree after a page has read it
	mostRow  = 25              // sibling tasks that are shown unfolded
)

// A tree is the live task tree of a running job.
type tree struct {
	At    time.Time
	Root  inspect.Node
	Tasks int // number of all tasks
	Waits []waits
}

// Waits is the number of tasks that wait for the same kind of thing.
type waits struct {
	For string
	N   int
}

// watch returns the live tree of a job, or nil while there is none.
func (h *handler) watch(ctx context.Context, id job.ID) (*tree, error) {
	told, err := h.Store.Watch(ctx, id, watchFor)
	if err != nil || len(told.JSON) == 0 {
		return nil, err
	}
	t := &tree{At: told.At}
	if err := json.Unmarshal(told.JSON, &t.Root); err != nil {
		return nil, err
	}
	for n := range nodes(&t.Root) {
		t.Tasks += 1 + n.More
		i := slices.IndexFunc(t.Waits, func(w waits) bool { return w.For == n.Wait.For })
		if i < 0 {
			i = len(t.Waits)
			t.Waits = append(t.Waits, waits{For: n.Wait.For})
		}
		t.Waits[i].N++
	}
	slices.SortFunc(t.Waits, func(a, b waits) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.For, b.For)) })
	return t, nil
}

// nodes yields a task and all its descendants.
func nodes(n *inspect.Node) func(yield func(*inspect.Node) bool) {
	var walk func(n *inspect.Node, yield func(*inspect.Node) bool) bool
	walk = func(n *inspect.Node, yield func(*inspect.Node) bool) bool {
		if !yield(n) {
			return false
		}
		for i := range n.Tasks {
			if !walk(&n.Tasks[i], yield) {
				return false
			}
		}
		return true
	}
	return func(yield func(*inspect.Node) bool) { walk(n, yield) }
}

// A taskView is a task of a tree, or a group of similar tasks, for the template. The descendants of a group are shown twice:
// merged and grouped again, and below each member.
type taskView struct {
	inspect.Node
	v        *view
	t        *tree
	id       job.ID
	root     bool
	together bool // below a group: the members of nested groups are not shown
	member   bool // below a member: of nested groups only the members are shown
}

// Task returns the root of the tree of this page's job.
func (v *view) Task() taskView {
	d := v.Data.(*detail)
	return taskView{Node: d.Tree.Root.Grouped(), v: v, t: d.Tree, id: d.ID, root: true}
}

// below returns the child tasks from first to end, as far as they exist.
func (t taskView) below(first, end int) []taskView {
	if t.Group != nil && t.member {
		return nil
	}
	var views []taskView
	for _, n := range t.Tasks[min(first, len(t.Tasks)):min(end, len(t.Tasks))] {
		views = append(views, taskView{Node: n, v: t.v, t: t.t, id: t.id, together: t.together || t.Group != nil, member: t.member})
	}
	return views
}

// First are the child tasks that are shown unfolded.
func (t taskView) First() []taskView { return t.below(0, mostRow) }

// Rest are the child tasks that are folded.
func (t taskView) Rest() []taskView { return t.below(mostRow, len(t.Tasks)) }

// Left is the number of child tasks that are missing in the tree.
func (t taskView) Left() int {
	if t.Group != nil && t.member {
		return 0
	}
	return t.More
}

// Members are the tasks of a group, where they are shown.
func (t taskView) Members() []taskView {
	if t.together {
		return nil
	}
	var views []taskView
	for _, n := range t.Group {
		views = append(views, taskView{Node: n.Grouped(), v: t.v, t: t.t, id: t.id, member: true})
	}
	return views
}

// Began shows how long the task has existed.
func (t taskView) Began() template.HTML {
	if t.Age < time.Second {
		return ""
	}
	return t.v.Since(t.t.At.Add(-t.Age).Round(time.Second))
}

// Ends shows when the wait will end by itself, if that is known.
func (t taskView) Ends() template.HTML {
	if t.Wait.Until.IsZero() {
		return ""
	}
	return t.v.Ago(t.Wait.Until)
}

// Place says where the task waits.
func (t taskView) Place() string {
	w := t.Wait
	if w.File == "" {
		return ""
	}
	dir, file := path.Split(strings.ReplaceAll(w.File, `\`, "/"))
	return path.Join(path.Base(dir), file) + ":" + strconv.Itoa(w.Line)
}

// Call is the function of another package that the task has called at that place.
func (t taskView) Call() string {
	call := t.Wait.Call
	if strings.HasPrefix(call, ourPackage) { // its waits have their own names
		return ""
	}
	end := strings.IndexByte(call+"[", '[') // type parameters follow
	return call[strings.LastIndexByte(call[:end], '/')+1:]
}

const ourPackage = "github.com/meanwhile-go/meanwhile."

// On is the specific thing that the task waits for; paths of tasks are relative to the job.
func (t taskView) On() string { return strings.TrimPrefix(t.Wait.On, t.t.Root.Path+"/") }

// Label is the name of the task; the label of the job's own task is the kind.
func (t taskView) Label() string {
	if t.root {
		return strings.TrimSuffix(t.Name, " "+t.id.String())
	}
	return t.Name
}

// Stop is the URL of the page that asks whether to cancel the task, or "" if that is not allowed.
func (t taskView) Stop() string {
	if t.v.ReadOnly || t.root || t.Group != nil || t.Kind == "blocking" || t.State == "abandoned" {
		return ""
	}
	return t.v.URL("/jobs/"+t.id.String()+"/task") + "?task=" + strconv.FormatUint(uint64(t.ID), 10)
}

// confirmTask asks whether to cancel a task of a job.
func (h *handler) confirmTask(ctx context.Context, v *view) (*page, error) {
	if v.ReadOnly {
		return nil, refuse(http.StatusForbidden, "You have read-only access.")
	}
	j, err := h.findJob(ctx, v.path["id"])
	if err != nil {
		return nil, err
	}
	t, err := h.watch(ctx, j.ID)
	if err != nil {
		return nil, err
	}
	task := v.Query.Get("task")
	if t != nil {
		for n := range nodes(&t.Root) {
			if strconv.FormatUint(uint64(n.ID), 10) == task {
				return &page{Title: "Cancel a task", Section: "jobs", frozen: true, Data: question{
					Text: "Cancel task " + n.Name + "?", Verb: "Cancel the task", Danger: true, To: "/jobs/" + j.ID.String() + "/task",
					Note: n.Path + ", with all tasks below it. The job itself goes on, if its handler does.",
					Back: "/jobs/" + j.ID.String(), Hidden: [][2]string{{"task", task}},
				}}, nil
			}
		}
	}
	return nil, refuse(http.StatusNotFound, "The job has no such task. It may have ended.")
}

// cancelTask makes the worker of a job cancel one of its tasks.
func (h *handler) cancelTask(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	j, err := h.findJob(ctx, r.PathValue("id"))
	if err != nil {
		return "", err
	}
	if _, err := strconv.ParseUint(r.PostForm.Get("task"), 10, 32); err != nil {
		return "", refuse(http.StatusBadRequest, "%.40q is not the number of a task.", r.PostForm.Get("task"))
	}
	if j.State != job.Running {
		return "", refuse(http.StatusConflict, "The job does not run any more.")
	}
	*done = job.AuditEntry{Action: "cancel task", Target: "id=" + j.ID.String() + " task=" + r.PostForm.Get("task"), Changed: 1}
	err = h.sendCommand(ctx, j.Worker, job.Command{Do: job.CommandCancelTask, Job: j.ID, Task: r.PostForm.Get("task")})
	return "/jobs/" + j.ID.String() + "?did-text=task", err
}
