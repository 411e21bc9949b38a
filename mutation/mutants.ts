import { relative } from 'node:path';
import { parseSync } from 'oxc-parser';

/** A range of a source file. Offsets are in UTF-16 units. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** One small change of a source file. */
export interface Mutant extends TextRange {
  readonly path: string;
  readonly replacement: string;
  readonly line: number;
  /** The original text in one line, for the report. */
  readonly original: string;
  /** The smallest expression or statement around the change that a conditional can replace. */
  readonly host: TextRange & { readonly isStatement: boolean };
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

type Emit = (range: TextRange, replacement: string) => void;
interface Place {
  /** False for code that runs while the module loads. */
  readonly inFunction: boolean;
  /** The node is the whole condition of an `if` or `?:`, which is also replaced by true and by false. */
  readonly isTest: boolean;
}
type Rule = (node: Node, text: string, emit: Emit, place: Place) => void;

const SWAPPED_OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '==': '!=',
  '!=': '==',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '+=': '-=',
  '-=': '+=',
};
/** Operators of SQL conditions, as string arguments of Kysely's `where` and `on`. */
const SWAPPED_SQL: Readonly<Record<string, string>> = {
  '=': '!=',
  '!=': '=',
  '<>': '=',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  in: 'not in',
};

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';

const EQUALITY = /^[!=]==?$/;

const ARITHMETIC = /^[-+*/]$/;

const swapOperator: Rule = (node, text, emit, { inFunction, isTest }) => {
  const { left, right, operator } = node;
  if (!isNode(left) || !isNode(right) || typeof operator !== 'string') return;
  // A test that detects a constant condition also detects the negated one.
  if (isTest && EQUALITY.test(operator)) return;
  const swapped = SWAPPED_OPERATORS[operator];
  // At the top level of a module, arithmetic is how a setting is written.
  if (swapped === undefined || (ARITHMETIC.test(operator) && !inFunction)) return;
  // String concatenation must not become subtraction.
  if (operator === '+' && [left, right].some((side) => /^(Template)?Literal$/.test(side.type) && !isNumber(side)))
    return;
  const start = text.indexOf(operator, left.end);
  emit({ start, end: start + operator.length }, swapped);
};

const isNumber = (node: Node): boolean => node.type === 'Literal' && typeof node['value'] === 'number';

/**
 * Removes a statement that only calls a function. Log calls and `unref` of timers are exempt: neither is behaviour
 * worth a test.
 */
const removeCall: Rule = (node, text, emit) => {
  const source = text.slice(node.start, node.end);
  const { expression } = node;
  if (!isNode(expression) || !/^(Call|Await|Unary)Expression$/.test(expression.type)) return;
  if (/^(?:void |await )?(?:this\.)?#?(?:\w+\.)*(?:log|#log|console)\./.test(source) || source.startsWith('super('))
    return;
  if (/\.unref\(\);$/.test(source)) return;
  emit(node, ';');
};

const removeCondition: Rule = (node, _text, emit) => {
  const { callee } = node;
  if (!isNode(callee) || callee.type !== 'MemberExpression') return;
  const { object, property } = callee;
  if (!isNode(object) || !isNode(property)) return;
  if (property['name'] === 'where') emit({ start: object.end, end: node.end }, '');
  if (object['name'] === 'Math' && (property['name'] === 'min' || property['name'] === 'max'))
    emit(property, property['name'] === 'min' ? 'max' : 'min');
  if (property['name'] !== 'where' && property['name'] !== 'on') return;
  const operator = (node['arguments'] as readonly Node[])[1];
  const swapped = operator && SWAPPED_SQL[String(operator['value'])];
  if (operator !== undefined && swapped !== undefined) emit(operator, `'${swapped}'`);
};

const changeLiteral: Rule = (node, _text, emit, { inFunction }) => {
  const { value } = node;
  if (typeof value === 'boolean') emit(node, String(!value));
  // Top-level constants of a module are settings; a test that repeats them proves nothing.
  if (typeof value === 'number' && inFunction) emit(node, String(value === 1 ? 0 : value + 1));
};

const RULES: Readonly<Record<string, Rule>> = {
  BinaryExpression: swapOperator,
  LogicalExpression: swapOperator,
  AssignmentExpression: swapOperator,
  UnaryExpression: (node, _text, emit, { isTest }) => {
    const { argument, operator } = node;
    if (!isTest && operator === '!' && isNode(argument)) emit({ start: node.start, end: argument.start }, '');
  },
  Literal: changeLiteral,
  CallExpression: removeCondition,
  ExpressionStatement: removeCall,
  ThrowStatement: (node, _text, emit) => emit(node, ';'),
};

const isFunction = ({ type }: Node): boolean => /^(Arrow)?Function/.test(type) || type === 'MethodDefinition';
/** Types, imports and arguments of log calls have no behaviour of their own. */
const isIgnored = (node: Node, text: string): boolean =>
  (node.type.startsWith('TS') && !/^TS(AsExpression|NonNullExpression|SatisfiesExpression)$/.test(node.type)) ||
  /^(Import|ExportAll)Declaration$/.test(node.type) ||
  (node.type === 'CallExpression' && /^(?:this\.)?#?(?:\w+\.)*(?:#?log|console)\.\w+\(/.test(text.slice(node.start)));

interface Ancestor {
  readonly node: Node;
  /** The property of the parent that holds the node. */
  readonly key: string;
}

const isStatement = ({ type }: Node): boolean => type === 'ExpressionStatement' || type === 'ThrowStatement';
const isExpression = ({ type }: Node): boolean => /(?:Expression|Literal)$/.test(type);

/** Whether `(condition ? changed : original)` can replace a node. */
function canBeHost(trail: readonly Ancestor[], index: number): boolean {
  const own = trail[index];
  const parent = trail[index - 1]?.node;
  if (own === undefined || parent === undefined || parent.type === 'MethodDefinition') return false;
  if (own.key === 'test' && own.node.type === 'Identifier') return true;
  if (!isExpression(own.node)) return false;
  // Excludes property names, and methods that need the object they are called on.
  if (/^(?:key|callee|tag)$/.test(own.key)) return false;
  if (own.key === 'left' && !/^(?:Binary|Logical)Expression$/.test(parent.type)) return false;
  if (parent.type === 'UnaryExpression' && parent['operator'] === 'delete') return false;
  // The links of `a?.b.c()` belong together.
  for (let i = index; i > 0 && /^(?:object|callee|expression)$/.test(trail[i]?.key ?? ''); i--)
    if (trail[i - 1]?.node.type === 'ChainExpression') return false;
  return true;
}

function findHost(trail: readonly Ancestor[]): Mutant['host'] | undefined {
  for (let i = trail.length - 1; i >= 0; i--) {
    const node = trail[i]?.node;
    if (node === undefined) continue;
    if (isStatement(node)) return { start: node.start, end: node.end, isStatement: true };
    if (canBeHost(trail, i)) return { start: node.start, end: node.end, isStatement: false };
  }
  return undefined;
}

/** All mutants of a file, in source order. */
export function findMutants(path: string, text: string): Mutant[] {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const found: Mutant[] = [];
  const trail: Ancestor[] = [];
  const emit: Emit = ({ start, end }, replacement) => {
    const host = findHost(
      trail.slice(0, 1 + trail.findLastIndex(({ node }) => node.start <= start && end <= node.end)),
    );
    if (host === undefined) return;
    const line = text.slice(0, start).split('\n').length;
    found.push({ path, start, end, replacement, line, original: text.slice(start, end).replace(/\s+/g, ' '), host });
  };
  const visit = (node: Node, key: string, inFunction: boolean, isTest: boolean): void => {
    if (isIgnored(node, text)) return;
    trail.push({ node, key });
    if (isTest) for (const constant of ['true', 'false']) emit(node, constant);
    RULES[node.type]?.(node, text, emit, { inFunction, isTest });
    const inside = inFunction || isFunction(node);
    const hasTest = node.type === 'IfStatement' || node.type === 'ConditionalExpression';
    for (const [name, value] of Object.entries(node)) {
      if (name === 'typeAnnotation' || name === 'typeArguments' || name === 'returnType') continue;
      for (const child of Array.isArray(value) ? value : [value])
        if (isNode(child)) visit(child, name, inside, hasTest && name === 'test');
    }
    trail.pop();
  };
  visit(program as unknown as Node, '', false, false);
  return found.sort((one, other) => one.start - other.start);
}

/** A mutant with a stable name. */
export type NamedMutant = Mutant & { readonly name: string };

const MAX_ORIGINAL = 80;

/**
 * All mutants of a file, each with a name that survives edits elsewhere in the file: path, original text and
 * replacement, plus a number if the same change occurs several times.
 *
 * @param root folder to which paths in names are relative
 */
export function nameMutants(root: string, path: string, text: string): NamedMutant[] {
  const times = new Map<string, number>();
  return findMutants(path, text).map((mutant) => {
    const { original, replacement } = mutant;
    const changed = replacement === '' || replacement === ';' ? '(left out)' : replacement;
    const base = `${relative(root, path)}: ${original.slice(0, MAX_ORIGINAL)} → ${changed}`;
    const time = (times.get(base) ?? 0) + 1;
    times.set(base, time);
    return { ...mutant, name: time === 1 ? base : `${base} (${time})` };
  });
}

/** A random sample in the original order; all items if `count` is not smaller. */
export function chooseSample<T>(all: readonly T[], count: number, random: () => number): readonly T[] {
  const keyed = all.map((each, index) => ({ each, index, key: random() })).sort((one, other) => one.key - other.key);
  const chosen = keyed.slice(0, count).sort((one, other) => one.index - other.index);
  return chosen.map(({ each }) => each);
}
