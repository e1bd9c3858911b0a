# frozen_string_literal: true

require_relative "lib/meanwhile/version"

Gem::Specification.new do |spec|
  spec.name = "meanwhile"
  spec.version = Meanwhile::VERSION
  spec.summary = "Active Job adapter and worker for a meanwhile server"
  spec.description = "Enqueues and runs durable background jobs over the HTTP API of a meanwhile server, with Active Job or without. " \
                     "Needs nothing but Ruby's standard library."
  spec.homepage = "https://github.com/meanwhile-go/meanwhile"
  spec.authors = ["The authors of meanwhile"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir["lib/**/*.rb", "exe/*", "README.md"]
  spec.bindir = "exe"
  spec.executables = ["meanwhile"]
  spec.metadata["rubygems_mfa_required"] = "true"
end
