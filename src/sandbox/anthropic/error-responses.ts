import { jsonResponse, type ProblemKind, type SimulatorResponse } from '../define-simulator.ts';

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, type: string, text: string]>> = {
  unauthorized: [401, 'authentication_error', 'invalid x-api-key'],
  forbidden: [403, 'permission_error', 'Your API key does not have permission to use the specified resource'],
  billing: [400, 'invalid_request_error', 'Your credit balance is too low to access the Anthropic API'],
  model: [404, 'not_found_error', 'model: unknown'],
  rate: [429, 'rate_limit_error', 'This request would exceed your rate limit'],
  concurrency: [429, 'rate_limit_error', 'Number of concurrent connections has exceeded your rate limit'],
  overloaded: [529, 'overloaded_error', 'Overloaded'],
  broken: [500, 'api_error', 'Internal server error'],
  timeout: [504, 'timeout_error', 'Request timed out'],
  policy: [400, 'invalid_request_error', 'Output blocked by content filtering policy'],
  invalid: [400, 'invalid_request_error', 'invalid request'],
  not_found: [404, 'not_found_error', 'Not found'],
};

/** docs.claude.com/en/api/errors */
export function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [status, type, text] = PROBLEMS[kind];
  const requestId = `req_sandbox_${kind}`;
  const body = { type: 'error', error: { type, message: message ?? text }, request_id: requestId };
  return jsonResponse(status, body, { 'request-id': requestId });
}
