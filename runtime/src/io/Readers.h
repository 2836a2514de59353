//===- Readers.h - Structures from files ------------------------*- C++ -*-===//
//
// Part of the Espalier project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a file of structures into a Forest with fields. Rules for all formats:
//
//  * Text is UTF-8; a byte order mark and carriage returns before line ends are
//    dropped. Only ASCII blanks separate tokens: a no-break space is part of
//    one.
//  * Vertices are numbered so that children come before their parents, and
//    structures follow one another in the order of the file.
//  * Malformed input is an Error MALFORMED that starts with "FILE:LINE:COLUMN:"
//    (both from 1; columns count bytes). The vocabulary is then as it was.
//  * Readers do not recurse: a tree may be a million levels deep.
//
//===----------------------------------------------------------------------===//
#ifndef ESPALIER_IO_READERS_H
#define ESPALIER_IO_READERS_H

#include "espalier/runtime.h"
#include "graph/Forest.h"
#include "io/Vocabulary.h"

#include <string>

namespace espalier {

/// Reads the file at `path` in `format`: "ptb", "sequence", "conllu", "jsonl".
/// Tokens that the vocabulary lacks are treated as `unseen` says (see
/// espalier/runtime.h), and added in the order of the file.
Forest readStructures(const std::string &path, const std::string &format,
                      Vocabulary &vocabulary, espalier_unseen unseen);

class TextReader;

/// Bracketed trees: "(label token)" is a leaf, "(label tree tree ...)" an inner
/// vertex; any layout. Vertices are in post-order: a tree's root is its last.
///   word   the leaf's token; -1 at inner vertices
///   label  the label, if the labels of the file are integers; if they are
///          names, these are numbered 0, 1, ... in the order in which they
///          first appear in this file. A file that mixes both is MALFORMED.
///          -1 where there is none, as in "( (S ...))"
Forest readPtb(TextReader &text);

/// One sequence a line, tokens between blanks. Vertex t's only child is t - 1;
/// the first has none. An empty line is a sequence of length 0, so that
/// structure k is always line k + 1.
///   word   the token
Forest readSequences(TextReader &text);

/// CoNLL-U: a vertex a word, its children are its dependents in the order of
/// the sentence, numbered in post-order. A sentence with several roots is one
/// structure of several trees, one after another; its last vertex is the last
/// root. Multiword tokens (2-3), empty nodes (3.1) and comments are skipped.
///   word   the form
///   upos   0 ... 16 for the tags of Universal Dependencies 2 in alphabetical
///          order (ADJ is 0, X is 16); -1 for any other, such as "_"
///   index  the word's position in its sentence, from 0
Forest readConllu(TextReader &text);

/// JSON lines, one structure a line; empty lines are skipped:
///   {"children": [[], [], [0, 1]], "fields": {"word": ["a", "b", null]}}
/// Children are numbered within the structure; null or -1 is an absent child.
/// The root is the last vertex. A field has one value a vertex; every line has
/// the same fields. Strings become ids of the vocabulary; numbers are i32 if
/// all of the file are written without fraction and exponent, f32 otherwise.
/// null is -1, in a field of strings or of integers.
Forest readJsonLines(TextReader &text);

} // namespace espalier

#endif // ESPALIER_IO_READERS_H
