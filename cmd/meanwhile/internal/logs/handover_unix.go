//go:build unix

package logs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile/logs/server"
)

const maxHandover = 8 << 20 // bytes of the state of one connection

// socketPair returns the two ends of a socket; theirs is for another process.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	f := os.NewFile(uintptr(fds[0]), "ours")
	defer f.Close()
	conn, err := net.FileConn(f)
	theirs = os.NewFile(uintptr(fds[1]), "theirs")
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return conn.(*net.UnixConn), theirs, nil
}

// sendConns sends connections: for each the length of its state, together with its descriptor, and then the state as JSON. A
// length of zero is the end.
func sendConns(to *net.UnixConn, conns []server.HandoverConn) error {
	var length [4]byte
	for i := range conns {
		text, err := json.Marshal(&conns[i])
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint32(length[:], uint32(len(text)))
		raw, err := conns[i].Conn.(syscall.Conn).SyscallConn()
		if err != nil {
			return err
		}
		var sent error
		if err := raw.Control(func(fd uintptr) {
			_, _, sent = to.WriteMsgUnix(length[:], syscall.UnixRights(int(fd)), nil)
		}); err != nil {
			return err
		}
		if sent != nil {
			return sent
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
	}
	_, err := to.Write(make([]byte, 4))
	return err
}

// receiveConns returns the connections sent by sendConns. After an error it returns those that came before.
func receiveConns(from *net.UnixConn) (conns []server.HandoverConn, err error) {
	rights := make([]byte, syscall.CmsgSpace(4))
	for {
		var length [4]byte
		n, rightsN, _, _, err := from.ReadMsgUnix(length[:], rights)
		if err == nil && n < len(length) {
			_, err = io.ReadFull(from, length[max(n, 0):])
		}
		if err != nil {
			return conns, err
		}
		size := binary.LittleEndian.Uint32(length[:])
		if size == 0 {
			return conns, nil
		}
		conn, err := received(rights[:rightsN])
		if err != nil {
			return conns, err
		}
		h := server.HandoverConn{Conn: conn}
		conns = append(conns, h)
		if size > maxHandover {
			return conns, errors.New("the description of a connection is too long")
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(from, text); err != nil {
			return conns, err
		}
		if err := json.Unmarshal(text, &conns[len(conns)-1]); err != nil {
			return conns, err
		}
	}
}

// received returns the connection for a received descriptor.
func received(rights []byte) (net.Conn, error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil || len(fds) != 1 {
			continue
		}
		syscall.CloseOnExec(fds[0])
		f := os.NewFile(uintptr(fds[0]), "connection")
		defer f.Close()
		return net.FileConn(f)
	}
	return nil, errors.New("a connection was received without its file descriptor")
}
