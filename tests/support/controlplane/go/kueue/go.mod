// The module is built in a copy of its own sources: it has replace lines, which only a main
// module can have. go.sum verifies the copy.
module tfjob.test/kueue

go 1.26.0

require sigs.k8s.io/kueue v0.15.0
