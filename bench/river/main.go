// River's jobs for the suite postgres: inserted one by one, run in this process, with their results as output.
// It reads runs from standard input, one JSON object per line, and answers each with one line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type addArgs struct {
	A int `json:"a"`
	B int `json:"b"`
}

func (addArgs) Kind() string { return "add" }

type addWorker struct {
	river.WorkerDefaults[addArgs]
}

func (*addWorker) Work(ctx context.Context, job *river.Job[addArgs]) error {
	return river.RecordOutput(ctx, job.Args.A+job.Args.B)
}

type run struct {
	Calls       int  `json:"calls"`
	Concurrency int  `json:"concurrency"`
	Check       bool `json:"check"`
}

// A buffer for the ends that this process has not read yet. River drops those that do not fit.
const endsAhead = 100_000

func main() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(os.Args[1])
	must(err)
	config.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)
	workers := river.NewWorkers()
	river.AddWorker(workers, &addWorker{})
	client, err := river.NewClient(driver, &river.Config{
		// The settings of River's own benchmark.
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.DiscardHandler),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2_000}},
		Workers:           workers,
	})
	must(err)
	ends, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: endsAhead,
		Kinds:    []river.EventKind{river.EventKindJobCompleted},
	})
	defer unsubscribe()
	must(client.Start(ctx))
	reply(map[string]bool{"ready": true})
	made := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var wanted run
		must(json.Unmarshal(lines.Bytes(), &wanted))
		if wanted.Check {
			reply(map[string]int{"made": made, "stored": countStored(ctx, pool)})
			continue
		}
		reply(runJobs(ctx, client, ends, made, wanted))
		made += wanted.Calls
	}
}

// Submitters wait until a job is accepted. The run ends when all jobs are completed.
func runJobs(ctx context.Context, client *river.Client[pgx.Tx], ends <-chan *river.Event, first int, wanted run) any {
	started, before := time.Now(), cpu()
	var next atomic.Int64
	var submitters sync.WaitGroup
	for range wanted.Concurrency {
		submitters.Go(func() {
			for {
				index := int(next.Add(1)) - 1
				if index >= wanted.Calls {
					return
				}
				_, err := client.Insert(ctx, addArgs{A: first + index, B: 1}, nil)
				must(err)
			}
		})
	}
	for range wanted.Calls {
		<-ends
	}
	submitters.Wait()
	return map[string]float64{
		"cpuUs":     float64((cpu() - before).Microseconds()) / float64(wanted.Calls),
		"elapsedMs": float64(time.Since(started).Microseconds()) / 1000,
	}
}

func countStored(ctx context.Context, pool *pgxpool.Pool) int {
	var stored int
	must(pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state = 'completed'
		AND (metadata->>'output')::integer = (args->>'a')::integer + (args->>'b')::integer`).Scan(&stored))
	return stored
}

func cpu() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reply(value any) {
	text, err := json.Marshal(value)
	must(err)
	fmt.Println(string(text))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
