// The module is built in a copy of its own sources: it has replace lines, which only a main
// module can have. go.sum verifies the copy.
module tfjob.test/volcano

go 1.26.0

require volcano.sh/volcano v1.10.0
