import { jsonResponse, type ProblemKind, type SimulatorResponse } from '../define-simulator.ts';

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, word: string, text: string]>> = {
  unauthorized: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  forbidden: [403, 'PERMISSION_DENIED', 'The caller does not have permission'],
  billing: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota'],
  model: [404, 'NOT_FOUND', 'The model is not found for API version v1beta'],
  rate: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted'],
  concurrency: [429, 'RESOURCE_EXHAUSTED', 'Too many requests at once'],
  overloaded: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  broken: [500, 'INTERNAL', 'An internal error has occurred'],
  timeout: [504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete'],
  policy: [400, 'INVALID_ARGUMENT', 'The request was blocked'],
  invalid: [400, 'INVALID_ARGUMENT', 'Request contains an invalid argument'],
  not_found: [404, 'NOT_FOUND', 'Requested entity was not found'],
};

/** ai.google.dev/gemini-api/docs/troubleshooting */
export function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [code, status, text] = PROBLEMS[kind];
  const details =
    kind === 'unauthorized'
      ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' }]
      : undefined;
  return jsonResponse(code, { error: { code, message: message ?? text, status, details } });
}
