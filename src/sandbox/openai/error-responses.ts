import { jsonResponse, type ProblemKind, type SimulatorResponse } from '../define-simulator.ts';
import { API_KEY } from './api-key-and-model-id-constants.ts';

const PROBLEMS: Readonly<Record<ProblemKind, readonly [status: number, type: string, code: string, text: string]>> = {
  unauthorized: [401, 'invalid_request_error', 'invalid_api_key', 'Incorrect API key provided'],
  forbidden: [403, 'invalid_request_error', 'unsupported_country_region_territory', 'Country not supported'],
  billing: [429, 'insufficient_quota', 'insufficient_quota', 'You exceeded your current quota'],
  model: [404, 'invalid_request_error', 'model_not_found', 'The model does not exist'],
  rate: [429, 'requests', 'rate_limit_exceeded', 'Rate limit reached'],
  concurrency: [429, 'requests', 'rate_limit_exceeded', 'Too many requests at once'],
  overloaded: [503, 'server_error', 'overloaded', 'The engine is currently overloaded'],
  broken: [500, 'server_error', 'server_error', 'The server had an error'],
  timeout: [504, 'server_error', 'timeout', 'The engine took too long'],
  policy: [400, 'invalid_request_error', 'content_policy_violation', 'Your request was rejected by our safety system'],
  invalid: [400, 'invalid_request_error', 'invalid_value', 'Invalid request'],
  not_found: [404, 'invalid_request_error', 'unknown_url', 'Unknown request URL'],
};

export function errorResponse(kind: ProblemKind, message?: string): SimulatorResponse {
  const [status, type, code, text] = PROBLEMS[kind];
  return jsonResponse(status, { error: { message: message ?? text, type, param: null, code } });
}

/** An error inside a stream. It quotes the key, as some upstreams do. */
export const toErrorEvent = (message: string): string =>
  `data: ${JSON.stringify({ error: { message: `${message}, key ${API_KEY}`, code: 'server_error' } })}\n\n`;
