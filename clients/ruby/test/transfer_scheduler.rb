# frozen_string_literal: true

require_relative "plain_scheduler"

# TransferScheduler switches between fibers by transfer, as async does from version 2: an error may be raised in a fiber only by the scheduler,
# which otherwise does not get control back.
class TransferScheduler < PlainScheduler
  def initialize
    super
    @loop = Fiber.current
  end

  def fiber(&block)
    Fiber.new(blocking: false, &block).tap { |fiber| back_soon { fiber.transfer } }
  end

  def raise(fiber, error)
    back_soon { fiber.raise(error) }
  end

  private

  def enter(fiber)
    fiber.transfer
  end

  def leave
    @loop.transfer
  end

  # back_soon yields, which switches to another fiber; the loop then returns to the calling one.
  def back_soon
    unblock(nil, Fiber.current) unless Fiber.current.equal?(@loop)
    yield
  end
end
