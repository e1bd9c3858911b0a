package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/process"
)

// interrupt sends the signal of ctrl-C.
func interrupt() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		panic(err)
	}
}

// A function that has finished its work when it is interrupted returns nil: the exit code is 0, and Main returns.
func ExampleMain() {
	process.Main(func(ctx context.Context) error {
		meanwhile.Go(ctx, func(context.Context) error {
			interrupt()
			return nil
		})
		<-ctx.Done()
		fmt.Println(context.Cause(ctx))
		return nil
	})
	fmt.Println("main returns")
	// Output:
	// stopped by signal interrupt
	// main returns
}

// A shield, with less time than the grace period, is for work that must be done before the end.
func ExampleConfig() {
	process.Config{Grace: 20 * time.Second}.Main(func(ctx context.Context) error {
		interrupt()
		<-ctx.Done()
		return meanwhile.Shield(ctx, 10*time.Second, func(ctx context.Context) error {
			_, err := fetch(ctx, "/save")
			fmt.Println("saved:", err == nil)
			return err
		})
	})
	// Output:
	// saved: true
}

// The clerk writes in the background, outside of all tasks. Lines that it has not written when the program ends are not
// lost.
func ExampleAtExit() {
	clerk := make(chan string, 10)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for line := range clerk {
			fmt.Println("written:", line)
		}
	}()
	process.AtExit(func(ctx context.Context) error {
		close(clerk)
		select {
		case <-written:
			return nil
		case <-ctx.Done():
			return errors.New("not all was written")
		}
	})

	process.Main(func(ctx context.Context) error {
		clerk <- "begun"
		interrupt()
		<-ctx.Done()
		clerk <- "stopped"
		return nil
	})
	// Output:
	// written: begun
	// written: stopped
}

func ExampleSignalError() {
	process.Main(func(ctx context.Context) error {
		interrupt()
		err := meanwhile.Sleep(ctx, time.Hour)
		if stopped, ok := errors.AsType[*process.SignalError](err); ok {
			fmt.Println("given up:", stopped.Signal)
		}
		return nil
	})
	// Output:
	// given up: interrupt
}

func ExampleSignalError_Error() {
	fmt.Println((&process.SignalError{Signal: os.Interrupt}).Error())
	// Output:
	// stopped by signal interrupt
}

// A task, however deep, determines the exit code of the program; Main prints the error and exits with that code.
func ExampleExitError() {
	const exitUsage = 64
	readFlags := func(context.Context) error {
		return &process.ExitError{Code: exitUsage, Err: errors.New("unknown flag -x")}
	}
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error { // stands for Main, which would exit
		meanwhile.Go(ctx, readFlags, meanwhile.Name("flags"))
		return nil
	}, meanwhile.Name("copy"))
	var exit *process.ExitError
	fmt.Println(errors.As(err, &exit), exit.Code)
	fmt.Println(err)
	// Output:
	// true 64
	// task copy/flags: unknown flag -x
}

func ExampleExitError_Error() {
	fmt.Println((&process.ExitError{Code: 3, Err: errNotFound}).Error())
	fmt.Println((&process.ExitError{Code: 3}).Error())
	// Output:
	// not found
	// exit code 3
}

func ExampleExitError_Unwrap() {
	err := &process.ExitError{Code: 3, Err: errNotFound}
	fmt.Println(errors.Is(err, errNotFound))
	// Output:
	// true
}

// For each signal the file is reopened, as programs that rotate logs expect.
func ExampleOnSignal() {
	err := meanwhile.Run(context.Background(), func(ctx context.Context) error {
		reopened := process.OnSignal(ctx, func(ctx context.Context, sig os.Signal) error {
			fmt.Println("reopen the log, because of", sig)
			return meanwhile.Stop // one call is enough for this example
		}, os.Interrupt) // a real program would use syscall.SIGHUP
		interrupt()
		_, err := reopened.Wait(ctx)
		return err
	})
	fmt.Println(err)
	// Output:
	// reopen the log, because of interrupt
	// <nil>
}
