package meanwhile

// A climber calls a function, and writes a number onto the stack of the goroutine: that of the task that the function is,
// or of what it waits for.
//
// It makes a call for each digit, from a place in its code that stands for the digit, the lowest first. A profile of all
// goroutines, which has nothing but the places that each of them is at, then tells which goroutine runs which task. See
// docs/design.md, "Who is who".
//
// A call takes 24 bytes of the stack, of which a sleeping task has none to spare. Therefore the climber is passed by its
// address, and the function is called from the place of the highest digit. It must not reach the heap.
type climber struct {
	f    func()
	rest uint32 // the digits that are not written yet
	left uint32 // how many they are
}

// climb calls f with a number of so many digits on the stack.
func climb(f func(), number, digits uint32) {
	c := climber{f, number, digits}
	c.step()
}

// step writes a digit, and then the next one, or calls the function.
//
//go:noinline
func (c *climber) step() {
	digit := c.rest % markBase
	c.rest /= markBase
	if c.left--; c.left > 0 {
		switch digit {
		case 0:
			c.step()
		case 1:
			c.step()
		case 2:
			c.step()
		case 3:
			c.step()
		case 4:
			c.step()
		case 5:
			c.step()
		case 6:
			c.step()
		case 7:
			c.step()
		case 8:
			c.step()
		case 9:
			c.step()
		case 10:
			c.step()
		case 11:
			c.step()
		case 12:
			c.step()
		case 13:
			c.step()
		case 14:
			c.step()
		case 15:
			c.step()
		case 16:
			c.step()
		case 17:
			c.step()
		case 18:
			c.step()
		case 19:
			c.step()
		case 20:
			c.step()
		case 21:
			c.step()
		case 22:
			c.step()
		case 23:
			c.step()
		case 24:
			c.step()
		case 25:
			c.step()
		case 26:
			c.step()
		case 27:
			c.step()
		case 28:
			c.step()
		case 29:
			c.step()
		case 30:
			c.step()
		case 31:
			c.step()
		case 32:
			c.step()
		case 33:
			c.step()
		case 34:
			c.step()
		case 35:
			c.step()
		case 36:
			c.step()
		case 37:
			c.step()
		case 38:
			c.step()
		case 39:
			c.step()
		case 40:
			c.step()
		case 41:
			c.step()
		case 42:
			c.step()
		case 43:
			c.step()
		case 44:
			c.step()
		case 45:
			c.step()
		case 46:
			c.step()
		case 47:
			c.step()
		case 48:
			c.step()
		case 49:
			c.step()
		case 50:
			c.step()
		case 51:
			c.step()
		case 52:
			c.step()
		case 53:
			c.step()
		case 54:
			c.step()
		case 55:
			c.step()
		case 56:
			c.step()
		case 57:
			c.step()
		case 58:
			c.step()
		case 59:
			c.step()
		case 60:
			c.step()
		case 61:
			c.step()
		case 62:
			c.step()
		case 63:
			c.step()
		case 64:
			c.step()
		case 65:
			c.step()
		case 66:
			c.step()
		case 67:
			c.step()
		case 68:
			c.step()
		case 69:
			c.step()
		case 70:
			c.step()
		case 71:
			c.step()
		case 72:
			c.step()
		case 73:
			c.step()
		case 74:
			c.step()
		case 75:
			c.step()
		case 76:
			c.step()
		case 77:
			c.step()
		case 78:
			c.step()
		case 79:
			c.step()
		case 80:
			c.step()
		case 81:
			c.step()
		case 82:
			c.step()
		case 83:
			c.step()
		case 84:
			c.step()
		case 85:
			c.step()
		case 86:
			c.step()
		case 87:
			c.step()
		case 88:
			c.step()
		case 89:
			c.step()
		case 90:
			c.step()
		case 91:
			c.step()
		case 92:
			c.step()
		case 93:
			c.step()
		case 94:
			c.step()
		case 95:
			c.step()
		case 96:
			c.step()
		case 97:
			c.step()
		case 98:
			c.step()
		case 99:
			c.step()
		case 100:
			c.step()
		case 101:
			c.step()
		case 102:
			c.step()
		case 103:
			c.step()
		case 104:
			c.step()
		case 105:
			c.step()
		case 106:
			c.step()
		case 107:
			c.step()
		case 108:
			c.step()
		case 109:
			c.step()
		case 110:
			c.step()
		case 111:
			c.step()
		case 112:
			c.step()
		case 113:
			c.step()
		case 114:
			c.step()
		case 115:
			c.step()
		case 116:
			c.step()
		case 117:
			c.step()
		case 118:
			c.step()
		case 119:
			c.step()
		case 120:
			c.step()
		case 121:
			c.step()
		case 122:
			c.step()
		case 123:
			c.step()
		case 124:
			c.step()
		case 125:
			c.step()
		case 126:
			c.step()
		case 127:
			c.step()
		}
		return
	}
	switch digit {
	case 0:
		c.f()
	case 1:
		c.f()
	case 2:
		c.f()
	case 3:
		c.f()
	case 4:
		c.f()
	case 5:
		c.f()
	case 6:
		c.f()
	case 7:
		c.f()
	case 8:
		c.f()
	case 9:
		c.f()
	case 10:
		c.f()
	case 11:
		c.f()
	case 12:
		c.f()
	case 13:
		c.f()
	case 14:
		c.f()
	case 15:
		c.f()
	case 16:
		c.f()
	case 17:
		c.f()
	case 18:
		c.f()
	case 19:
		c.f()
	case 20:
		c.f()
	case 21:
		c.f()
	case 22:
		c.f()
	case 23:
		c.f()
	case 24:
		c.f()
	case 25:
		c.f()
	case 26:
		c.f()
	case 27:
		c.f()
	case 28:
		c.f()
	case 29:
		c.f()
	case 30:
		c.f()
	case 31:
		c.f()
	case 32:
		c.f()
	case 33:
		c.f()
	case 34:
		c.f()
	case 35:
		c.f()
	case 36:
		c.f()
	case 37:
		c.f()
	case 38:
		c.f()
	case 39:
		c.f()
	case 40:
		c.f()
	case 41:
		c.f()
	case 42:
		c.f()
	case 43:
		c.f()
	case 44:
		c.f()
	case 45:
		c.f()
	case 46:
		c.f()
	case 47:
		c.f()
	case 48:
		c.f()
	case 49:
		c.f()
	case 50:
		c.f()
	case 51:
		c.f()
	case 52:
		c.f()
	case 53:
		c.f()
	case 54:
		c.f()
	case 55:
		c.f()
	case 56:
		c.f()
	case 57:
		c.f()
	case 58:
		c.f()
	case 59:
		c.f()
	case 60:
		c.f()
	case 61:
		c.f()
	case 62:
		c.f()
	case 63:
		c.f()
	case 64:
		c.f()
	case 65:
		c.f()
	case 66:
		c.f()
	case 67:
		c.f()
	case 68:
		c.f()
	case 69:
		c.f()
	case 70:
		c.f()
	case 71:
		c.f()
	case 72:
		c.f()
	case 73:
		c.f()
	case 74:
		c.f()
	case 75:
		c.f()
	case 76:
		c.f()
	case 77:
		c.f()
	case 78:
		c.f()
	case 79:
		c.f()
	case 80:
		c.f()
	case 81:
		c.f()
	case 82:
		c.f()
	case 83:
		c.f()
	case 84:
		c.f()
	case 85:
		c.f()
	case 86:
		c.f()
	case 87:
		c.f()
	case 88:
		c.f()
	case 89:
		c.f()
	case 90:
		c.f()
	case 91:
		c.f()
	case 92:
		c.f()
	case 93:
		c.f()
	case 94:
		c.f()
	case 95:
		c.f()
	case 96:
		c.f()
	case 97:
		c.f()
	case 98:
		c.f()
	case 99:
		c.f()
	case 100:
		c.f()
	case 101:
		c.f()
	case 102:
		c.f()
	case 103:
		c.f()
	case 104:
		c.f()
	case 105:
		c.f()
	case 106:
		c.f()
	case 107:
		c.f()
	case 108:
		c.f()
	case 109:
		c.f()
	case 110:
		c.f()
	case 111:
		c.f()
	case 112:
		c.f()
	case 113:
		c.f()
	case 114:
		c.f()
	case 115:
		c.f()
	case 116:
		c.f()
	case 117:
		c.f()
	case 118:
		c.f()
	case 119:
		c.f()
	case 120:
		c.f()
	case 121:
		c.f()
	case 122:
		c.f()
	case 123:
		c.f()
	case 124:
		c.f()
	case 125:
		c.f()
	case 126:
		c.f()
	case 127:
		c.f()
	}
}
