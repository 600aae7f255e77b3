package conformance

import (
	"os"
	"testing"
	"time"
)

// Between two steps of growth: time for every worker to meet the new ranges with the old ones in its cache.
const rest = time.Second

// moveRanges goes from the first ranges to 16 and back to 2, and then ends the work.
func moveRanges(r *ranges, w *work, steps *[]int) error {
	defer w.isOver.Store(true)
	time.Sleep(rest)
	for _, phase := range []struct {
		move func() error
		goal int
	}{{r.grow, rangesMax}, {r.shrink, rangesMin}} {
		for !w.isOver.Load() {
			ids, err := r.ids()
			if err != nil {
				return err
			}
			*steps = append(*steps, len(ids))
			if len(ids) == phase.goal {
				break
			}
			if err := phase.move(); err != nil {
				return err
			}
			time.Sleep(rest)
		}
	}
	return nil
}

func TestNothingIsLostDoubledOrOutOfOrderWhileRangesSplitAndMerge(t *testing.T) {
	if os.Getenv("ORRERY_GROWTH") == "" {
		t.Skip("takes half a minute: ORRERY_GROWTH=1 runs it")
	}
	database := newDatabase(t, newClient(t))
	props := properties("/pk")
	w := &work{container: containerIn(t, database, props, nil), live: map[string]acknowledged{}, seen: map[string]int{}}
	w.fill(t)
	path := "_orrery/dbs/" + database.ID() + "/colls/" + props.ID + "/ranges"
	r := &ranges{endpoint: setting(t, "ORRERY_ENDPOINT"), key: setting(t, "ORRERY_KEY"), path: path}

	var steps []int
	workers := []func() error{func() error { return moveRanges(r, w, &steps) }, w.read, w.read, w.queryAll, w.queryOneKey, w.follow}
	for writer := range 4 {
		workers = append(workers, func() error { return w.write(writer) })
	}
	for n, worker := range workers {
		workers[n] = func() error {
			err := worker()
			if err != nil {
				w.isOver.Store(true) // One failure ends the others.
			}
			return err
		}
	}
	must(t, together(workers))
	w.check(t)
	equal(t, steps[len(steps)-1], rangesMin, "ranges at the end")
	t.Log("ranges", steps, "writes", w.written, "reads", w.reads.Load(), "pages", w.pages.Load(), "changes", w.changes)
	if w.written < 100 || w.reads.Load() == 0 || w.pages.Load() == 0 || w.changes < w.written/4 {
		t.Fatal("some worker did nothing")
	}
}
