import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import * as chatEndpoints from '../../contract/openai-anthropic-and-gemini-model-calls.ts';
import { type Dialect, listOf, MAX_IMAGE_EVENT_BYTES, textOf } from './dialect.ts';

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

/** Google's generateContent (ai.google.dev/api/generate-content). Model and streaming are in the path, not in the body. */
export const GEMINI_DIALECT: Dialect = {
  vendor: 'gemini',
  path: PATH,
  upstreamPath: (model, stream) =>
    `${PATH}/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: chatEndpoints.geminiModelCall.body,
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
  mergesUsage: false,
  findUsage: (value) => asObject(asObject(value)?.usageMetadata),
  countFinishedChoices: ({ candidates, promptFeedback }) =>
    textOf(asObject(promptFeedback)?.blockReason) === ''
      ? listOf(candidates).filter((candidate) => textOf(asObject(candidate)?.finishReason) !== '').length
      : 1,
  // Parts may hold pictures.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: extractText,
  extractResponseText: extractText,
  toErrorEvent: (body) => `data: ${body}\n\n`,
};
