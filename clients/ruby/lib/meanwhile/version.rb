# frozen_string_literal: true

module Meanwhile
  VERSION = "0.1.0"
end
