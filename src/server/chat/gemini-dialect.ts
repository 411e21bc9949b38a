import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import * as chatEndpoints from '../../contract/openai-anthropic-and-gemini-model-calls.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { type Dialect, hasFigures, isBlank, listOf, MAX_IMAGE_EVENT_BYTES, textOf } from './dialect.ts';

const PATH = '/v1beta/models';

function textOfPart(part: unknown): string {
  const { text, functionCall } = asObject(part) ?? {};
  const { name, args } = asObject(functionCall) ?? {};
  return textOf(text) + textOf(name) + (args === undefined ? '' : JSON.stringify(args));
}

const extractText = ({ candidates }: UntrustedObject): string =>
  listOf(candidates)
    .flatMap((candidate) => listOf(asObject(asObject(candidate)?.content)?.parts))
    .map(textOfPart)
    .join('');

/** Members whose inner names are not Google's: the caller's data, and schemas, which their reader takes in both spellings. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  'args',
  'response',
  'labels',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
]);

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/;

/** The name by which Google's reference has a member; its readers take both spellings of each (protobuf.dev/programming-guides/json). */
const toCamelCase = (name: string): string =>
  SNAKE_CASE.test(name) ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : name;

/** A value with Google's names in camel case; the very same value where all were so. */
function inCamelCase(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const elements = value.map((each, index) => inCamelCase(each, `${path}${index}.`));
    return elements.some((each, index) => each !== value[index]) ? elements : value;
  }
  const object = asObject(value);
  if (object === undefined) return value;
  let isSame = true;
  const members = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(object)) {
    const name = toCamelCase(key);
    if (members.has(name))
      throw invalidRequest(`${path}${key} and ${path}${name} are one field; give only one of them.`, path + key);
    const written = UNTOUCHED.has(name) ? inner : inCamelCase(inner, `${path}${name}.`);
    members.set(name, written);
    if (name !== key || written !== inner) isSame = false;
  }
  return isSame ? value : Object.fromEntries(members);
}

/** A chunk without parts, whose only reason to end is the usual one. */
const isPreamble = ({ candidates, promptFeedback, usageMetadata }: UntrustedObject): boolean =>
  isBlank(asObject(promptFeedback)?.blockReason) &&
  !hasFigures(asObject(usageMetadata)) &&
  listOf(candidates).every((candidate) => {
    const { content, finishReason } = asObject(candidate) ?? {};
    const parts = listOf(asObject(content)?.parts);
    const isEmpty = parts.every((part) => Object.values(asObject(part) ?? {}).every(isBlank));
    return isEmpty && (isUnfinished(finishReason) || finishReason === 'STOP');
  });

/** Of a chunk that others follow; the second is the default of Google's own encoding. */
const isUnfinished = (reason: unknown): boolean => isBlank(reason) || reason === 'FINISH_REASON_UNSPECIFIED';

/** Google's generateContent (ai.google.dev/api/generate-content). Model and streaming are in the path, not in the body. */
export const GEMINI_DIALECT: Dialect = {
  vendor: 'gemini',
  path: PATH,
  upstreamPath: (model, stream) =>
    `${PATH}/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: chatEndpoints.geminiModelCall.body,
  normalize: (body) => inCamelCase(body, '') as UntrustedObject,
  count: { path: (model) => `${PATH}/${encodeURIComponent(model)}:countTokens`, key: 'totalTokens' },
  limitContainer: 'generationConfig',
  maxTokensKeys: ['maxOutputTokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'contents',
  resultKey: 'candidates',
  // A question that is refused gets no candidates, but is still a response with usage.
  refusalKey: 'promptFeedback',
  forwardedHeaders: [],
  idHeader: undefined,
  usageMarkers: ['"usageMetadata":{', '"usageMetadata": {'],
  findUsage: (value) => asObject(asObject(value)?.usageMetadata),
  countFinishedChoices: ({ candidates, promptFeedback }) =>
    textOf(asObject(promptFeedback)?.blockReason) === ''
      ? listOf(candidates).filter((candidate) => !isUnfinished(asObject(candidate)?.finishReason)).length
      : 1,
  isPreamble,
  isEmptyResponse: isPreamble,
  // Parts may hold pictures.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: extractText,
  extractResponseText: extractText,
  toErrorEvent: (body) => `data: ${body}\n\n`,
};
