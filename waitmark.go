package meanwhile

// waitLow waits with the parker's number on the stack: the ctx says to which task the parker belongs, but the goroutine may
// be that of another. The number is written as a climber does it; without one, because that would take more of the stack.
//
//go:noinline
func (p *parker) waitLow(number uint32) {
	switch number % markBase {
	case 0:
		p.waitHigh(number)
	case 1:
		p.waitHigh(number)
	case 2:
		p.waitHigh(number)
	case 3:
		p.waitHigh(number)
	case 4:
		p.waitHigh(number)
	case 5:
		p.waitHigh(number)
	case 6:
		p.waitHigh(number)
	case 7:
		p.waitHigh(number)
	case 8:
		p.waitHigh(number)
	case 9:
		p.waitHigh(number)
	case 10:
		p.waitHigh(number)
	case 11:
		p.waitHigh(number)
	case 12:
		p.waitHigh(number)
	case 13:
		p.waitHigh(number)
	case 14:
		p.waitHigh(number)
	case 15:
		p.waitHigh(number)
	case 16:
		p.waitHigh(number)
	case 17:
		p.waitHigh(number)
	case 18:
		p.waitHigh(number)
	case 19:
		p.waitHigh(number)
	case 20:
		p.waitHigh(number)
	case 21:
		p.waitHigh(number)
	case 22:
		p.waitHigh(number)
	case 23:
		p.waitHigh(number)
	case 24:
		p.waitHigh(number)
	case 25:
		p.waitHigh(number)
	case 26:
		p.waitHigh(number)
	case 27:
		p.waitHigh(number)
	case 28:
		p.waitHigh(number)
	case 29:
		p.waitHigh(number)
	case 30:
		p.waitHigh(number)
	case 31:
		p.waitHigh(number)
	case 32:
		p.waitHigh(number)
	case 33:
		p.waitHigh(number)
	case 34:
		p.waitHigh(number)
	case 35:
		p.waitHigh(number)
	case 36:
		p.waitHigh(number)
	case 37:
		p.waitHigh(number)
	case 38:
		p.waitHigh(number)
	case 39:
		p.waitHigh(number)
	case 40:
		p.waitHigh(number)
	case 41:
		p.waitHigh(number)
	case 42:
		p.waitHigh(number)
	case 43:
		p.waitHigh(number)
	case 44:
		p.waitHigh(number)
	case 45:
		p.waitHigh(number)
	case 46:
		p.waitHigh(number)
	case 47:
		p.waitHigh(number)
	case 48:
		p.waitHigh(number)
	case 49:
		p.waitHigh(number)
	case 50:
		p.waitHigh(number)
	case 51:
		p.waitHigh(number)
	case 52:
		p.waitHigh(number)
	case 53:
		p.waitHigh(number)
	case 54:
		p.waitHigh(number)
	case 55:
		p.waitHigh(number)
	case 56:
		p.waitHigh(number)
	case 57:
		p.waitHigh(number)
	case 58:
		p.waitHigh(number)
	case 59:
		p.waitHigh(number)
	case 60:
		p.waitHigh(number)
	case 61:
		p.waitHigh(number)
	case 62:
		p.waitHigh(number)
	case 63:
		p.waitHigh(number)
	case 64:
		p.waitHigh(number)
	case 65:
		p.waitHigh(number)
	case 66:
		p.waitHigh(number)
	case 67:
		p.waitHigh(number)
	case 68:
		p.waitHigh(number)
	case 69:
		p.waitHigh(number)
	case 70:
		p.waitHigh(number)
	case 71:
		p.waitHigh(number)
	case 72:
		p.waitHigh(number)
	case 73:
		p.waitHigh(number)
	case 74:
		p.waitHigh(number)
	case 75:
		p.waitHigh(number)
	case 76:
		p.waitHigh(number)
	case 77:
		p.waitHigh(number)
	case 78:
		p.waitHigh(number)
	case 79:
		p.waitHigh(number)
	case 80:
		p.waitHigh(number)
	case 81:
		p.waitHigh(number)
	case 82:
		p.waitHigh(number)
	case 83:
		p.waitHigh(number)
	case 84:
		p.waitHigh(number)
	case 85:
		p.waitHigh(number)
	case 86:
		p.waitHigh(number)
	case 87:
		p.waitHigh(number)
	case 88:
		p.waitHigh(number)
	case 89:
		p.waitHigh(number)
	case 90:
		p.waitHigh(number)
	case 91:
		p.waitHigh(number)
	case 92:
		p.waitHigh(number)
	case 93:
		p.waitHigh(number)
	case 94:
		p.waitHigh(number)
	case 95:
		p.waitHigh(number)
	case 96:
		p.waitHigh(number)
	case 97:
		p.waitHigh(number)
	case 98:
		p.waitHigh(number)
	case 99:
		p.waitHigh(number)
	case 100:
		p.waitHigh(number)
	case 101:
		p.waitHigh(number)
	case 102:
		p.waitHigh(number)
	case 103:
		p.waitHigh(number)
	case 104:
		p.waitHigh(number)
	case 105:
		p.waitHigh(number)
	case 106:
		p.waitHigh(number)
	case 107:
		p.waitHigh(number)
	case 108:
		p.waitHigh(number)
	case 109:
		p.waitHigh(number)
	case 110:
		p.waitHigh(number)
	case 111:
		p.waitHigh(number)
	case 112:
		p.waitHigh(number)
	case 113:
		p.waitHigh(number)
	case 114:
		p.waitHigh(number)
	case 115:
		p.waitHigh(number)
	case 116:
		p.waitHigh(number)
	case 117:
		p.waitHigh(number)
	case 118:
		p.waitHigh(number)
	case 119:
		p.waitHigh(number)
	case 120:
		p.waitHigh(number)
	case 121:
		p.waitHigh(number)
	case 122:
		p.waitHigh(number)
	case 123:
		p.waitHigh(number)
	case 124:
		p.waitHigh(number)
	case 125:
		p.waitHigh(number)
	case 126:
		p.waitHigh(number)
	case 127:
		p.waitHigh(number)
	}
}

// waitHigh writes the higher digit.
//
//go:noinline
func (p *parker) waitHigh(number uint32) {
	switch number / markBase {
	case 0:
		p.wg.Wait()
	case 1:
		p.wg.Wait()
	case 2:
		p.wg.Wait()
	case 3:
		p.wg.Wait()
	case 4:
		p.wg.Wait()
	case 5:
		p.wg.Wait()
	case 6:
		p.wg.Wait()
	case 7:
		p.wg.Wait()
	case 8:
		p.wg.Wait()
	case 9:
		p.wg.Wait()
	case 10:
		p.wg.Wait()
	case 11:
		p.wg.Wait()
	case 12:
		p.wg.Wait()
	case 13:
		p.wg.Wait()
	case 14:
		p.wg.Wait()
	case 15:
		p.wg.Wait()
	case 16:
		p.wg.Wait()
	case 17:
		p.wg.Wait()
	case 18:
		p.wg.Wait()
	case 19:
		p.wg.Wait()
	case 20:
		p.wg.Wait()
	case 21:
		p.wg.Wait()
	case 22:
		p.wg.Wait()
	case 23:
		p.wg.Wait()
	case 24:
		p.wg.Wait()
	case 25:
		p.wg.Wait()
	case 26:
		p.wg.Wait()
	case 27:
		p.wg.Wait()
	case 28:
		p.wg.Wait()
	case 29:
		p.wg.Wait()
	case 30:
		p.wg.Wait()
	case 31:
		p.wg.Wait()
	case 32:
		p.wg.Wait()
	case 33:
		p.wg.Wait()
	case 34:
		p.wg.Wait()
	case 35:
		p.wg.Wait()
	case 36:
		p.wg.Wait()
	case 37:
		p.wg.Wait()
	case 38:
		p.wg.Wait()
	case 39:
		p.wg.Wait()
	case 40:
		p.wg.Wait()
	case 41:
		p.wg.Wait()
	case 42:
		p.wg.Wait()
	case 43:
		p.wg.Wait()
	case 44:
		p.wg.Wait()
	case 45:
		p.wg.Wait()
	case 46:
		p.wg.Wait()
	case 47:
		p.wg.Wait()
	case 48:
		p.wg.Wait()
	case 49:
		p.wg.Wait()
	case 50:
		p.wg.Wait()
	case 51:
		p.wg.Wait()
	case 52:
		p.wg.Wait()
	case 53:
		p.wg.Wait()
	case 54:
		p.wg.Wait()
	case 55:
		p.wg.Wait()
	case 56:
		p.wg.Wait()
	case 57:
		p.wg.Wait()
	case 58:
		p.wg.Wait()
	case 59:
		p.wg.Wait()
	case 60:
		p.wg.Wait()
	case 61:
		p.wg.Wait()
	case 62:
		p.wg.Wait()
	case 63:
		p.wg.Wait()
	case 64:
		p.wg.Wait()
	case 65:
		p.wg.Wait()
	case 66:
		p.wg.Wait()
	case 67:
		p.wg.Wait()
	case 68:
		p.wg.Wait()
	case 69:
		p.wg.Wait()
	case 70:
		p.wg.Wait()
	case 71:
		p.wg.Wait()
	case 72:
		p.wg.Wait()
	case 73:
		p.wg.Wait()
	case 74:
		p.wg.Wait()
	case 75:
		p.wg.Wait()
	case 76:
		p.wg.Wait()
	case 77:
		p.wg.Wait()
	case 78:
		p.wg.Wait()
	case 79:
		p.wg.Wait()
	case 80:
		p.wg.Wait()
	case 81:
		p.wg.Wait()
	case 82:
		p.wg.Wait()
	case 83:
		p.wg.Wait()
	case 84:
		p.wg.Wait()
	case 85:
		p.wg.Wait()
	case 86:
		p.wg.Wait()
	case 87:
		p.wg.Wait()
	case 88:
		p.wg.Wait()
	case 89:
		p.wg.Wait()
	case 90:
		p.wg.Wait()
	case 91:
		p.wg.Wait()
	case 92:
		p.wg.Wait()
	case 93:
		p.wg.Wait()
	case 94:
		p.wg.Wait()
	case 95:
		p.wg.Wait()
	case 96:
		p.wg.Wait()
	case 97:
		p.wg.Wait()
	case 98:
		p.wg.Wait()
	case 99:
		p.wg.Wait()
	case 100:
		p.wg.Wait()
	case 101:
		p.wg.Wait()
	case 102:
		p.wg.Wait()
	case 103:
		p.wg.Wait()
	case 104:
		p.wg.Wait()
	case 105:
		p.wg.Wait()
	case 106:
		p.wg.Wait()
	case 107:
		p.wg.Wait()
	case 108:
		p.wg.Wait()
	case 109:
		p.wg.Wait()
	case 110:
		p.wg.Wait()
	case 111:
		p.wg.Wait()
	case 112:
		p.wg.Wait()
	case 113:
		p.wg.Wait()
	case 114:
		p.wg.Wait()
	case 115:
		p.wg.Wait()
	case 116:
		p.wg.Wait()
	case 117:
		p.wg.Wait()
	case 118:
		p.wg.Wait()
	case 119:
		p.wg.Wait()
	case 120:
		p.wg.Wait()
	case 121:
		p.wg.Wait()
	case 122:
		p.wg.Wait()
	case 123:
		p.wg.Wait()
	case 124:
		p.wg.Wait()
	case 125:
		p.wg.Wait()
	case 126:
		p.wg.Wait()
	case 127:
		p.wg.Wait()
	}
}
