// Bare is a server for clients of Faktory that keeps jobs in memory only. It validates, limits and stores nothing: the time that it needs for a job
// is the time of the connections and clients of a benchmark, with any server that is written like this.
//
//	bare 127.0.0.1:7419
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"log"
	"net"
	"os"
	"time"
)

// jobs has the jobs that were pushed but not fetched yet.
var jobs = make(chan []byte, 1_000_000)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("give an address to listen on, such as 127.0.0.1:7419")
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	for {
		socket, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(socket)
	}
}

// serve runs the commands of a client until it disconnects.
func serve(socket net.Conn) {
	defer socket.Close()
	lines := bufio.NewReaderSize(socket, 64<<10)
	_, err := socket.Write([]byte("+HI {\"v\":2}\r\n"))
	for err == nil {
		var line []byte
		if line, err = wholeLine(lines); err == nil {
			_, err = socket.Write(answer(line))
		}
	}
}

// wholeLine reads a line of any length.
func wholeLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	begin := bytes.Clone(line)
	rest, err := lines.ReadBytes('\n')
	return append(begin, rest...), err
}

func answer(line []byte) []byte {
	verb, args, _ := bytes.Cut(line, []byte(" "))
	switch string(verb) {
	case "PUSH":
		jobs <- bytes.Clone(bytes.TrimSpace(args))
		return []byte("+OK\r\n")
	case "PUSHB":
		for j := range bytes.SplitSeq(bytes.Trim(args, "[]\r\n"), []byte("},{")) {
			jobs <- fmt.Appendf(nil, "{%s}", bytes.Trim(j, "{}"))
		}
		return []byte("$2\r\n{}\r\n")
	case "FETCH":
		select {
		case j := <-jobs:
			return fmt.Appendf(nil, "$%d\r\n%s\r\n", len(j), j)
		case <-time.After(2 * time.Second):
			return []byte("$-1\r\n")
		}
	default: // HELLO, ACK, BEAT
		return []byte("+OK\r\n")
	}
}
