// Every sentence of the sources has its Chinese one, and none is kept that is no longer used.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const LOCALE = 'locale/zh_CN/LC_MESSAGES/gearshift.json';

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      yield* files(path);
    } else if (/\.tsx?$/.test(entry.name) && !path.includes('tests')) {
      yield path;
    }
  }
}

function isWords(callee, name) {
  return ts.isIdentifier(callee) ? callee.text === name : ts.isPropertyAccessExpression(callee) && callee.name.text === name;
}

function* strings(node) {
  if (ts.isStringLiteralLike(node)) {
    yield node.text;
  } else if (ts.isConditionalExpression(node)) {
    yield* strings(node.whenTrue);
    yield* strings(node.whenFalse);
  }
}

/** Text -> whether it has a plural; Lab's reader takes a plural only with two forms, even where a language has one. */
function used() {
  const found = new Map();
  const visit = node => {
    if (ts.isCallExpression(node) && node.arguments[0]) {
      if (isWords(node.expression, 't')) {
        for (const text of strings(node.arguments[0])) found.set(text, false);
      } else if (isWords(node.expression, 'n') && node.arguments.length > 2) {
        for (const text of strings(node.arguments[0])) found.set(text, true);
      }
    }
    ts.forEachChild(node, visit);
  };
  for (const path of files('src')) {
    visit(ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  }
  return found;
}

const known = JSON.parse(readFileSync(LOCALE, 'utf8'));
const texts = used();
const missing = [...texts.keys()].filter(text => !(text in known));
const stale = Object.keys(known).filter(text => text !== '' && !texts.has(text));
const forms = [...texts].filter(([text, plural]) => text in known && known[text].length !== (plural ? 2 : 1)).map(([text]) => text);
const holes = [...texts.keys()].filter(text => {
  const names = of => [...new Set(of.match(/\{\w+\}/g) ?? [])].sort().join();
  return text in known && names(text) !== names(known[text][0]);
});
for (const [what, list] of Object.entries({ missing, stale, 'wrong number of forms': forms, 'other placeholders': holes })) {
  for (const text of list) console.error(`${LOCALE}: ${what}: ${JSON.stringify(text)}`);
}
process.exit(missing.length + stale.length + forms.length + holes.length ? 1 : 0);
