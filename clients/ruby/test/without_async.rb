# frozen_string_literal: true

# Simulates that the gem async is not installed.
module WithoutAsync
  def require(name)
    name == "async" ? raise(LoadError, "no async") : super
  end
end

Object.prepend(WithoutAsync)
