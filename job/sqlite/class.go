package sqlite

import (
	"fmt"
	"maps"
	"sync"
)

// A class is a queue and a kind. Jobs have its number instead of the names.
type class struct{ id, queue int64 }

type className struct{ queue, kind string }

// classes are the classes that are known to be in the file.
type classes struct {
	mu     sync.RWMutex
	byName map[className]class
	byID   map[int64]className
}

func (c *classes) add(fresh map[className]class) {
	if len(fresh) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName, c.byID = map[className]class{}, map[int64]className{}
	}
	maps.Copy(c.byName, fresh)
	for name, found := range fresh {
		c.byID[found.id] = name
	}
}

func (c *classes) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byName)
	clear(c.byID)
}

func (c *classes) find(name className) (class, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	found, ok := c.byName[name]
	return found, ok
}

func (c *classes) name(id int64) (className, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	name, ok := c.byID[id]
	return name, ok
}

// class returns the class of a queue and a kind, and creates it if it is new.
func (t *txn) class(queue, kind string) (class, error) {
	name := className{queue, kind}
	if found, ok := t.fresh[name]; ok {
		return found, nil
	}
	if found, ok := t.store.classes.find(name); ok {
		return found, nil
	}
	if _, err := t.exec(statement("queue_add"), queue); err != nil {
		return class{}, err
	}
	if _, err := t.exec(statement("class_add"), queue, kind); err != nil {
		return class{}, err
	}
	row, err := one(t, statement("class_find"), queue, kind)
	if err != nil {
		return class{}, err
	}
	found := class{integer(row[0]), integer(row[1])}
	t.fresh[name] = found
	return found, nil
}

// className returns the queue and the kind of a class.
func (t *txn) className(id int64) (className, error) {
	if name, ok := t.store.classes.name(id); ok {
		return name, nil
	}
	for name, found := range t.fresh {
		if found.id == id {
			return name, nil
		}
	}
	row, err := one(t, statement("class_name"), id)
	if err != nil {
		return className{}, err
	}
	if row == nil {
		return className{}, fmt.Errorf("class %d of a job is missing", id)
	}
	name := className{text(row[0]), text(row[1])}
	t.fresh[name] = class{id, integer(row[2])}
	return name, nil
}
