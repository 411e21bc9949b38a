import { jsonResponse, type SimulatorRequest, type SimulatorResponse } from '../define-simulator.ts';
import { errorResponse } from './error-responses.ts';
import { promptTokens } from './response-fields-and-event-stream.ts';

const VECTOR = [0.5, -0.5, 0.25, 0.125];

/** Text, several texts, one list of tokens, or several lists of tokens. */
function countInputs(input: unknown): number {
  if (!Array.isArray(input)) return 1;
  return typeof input[0] === 'number' ? 1 : input.length;
}

/** Float32, little-endian, in Base64: the default format of the official clients. */
const toBase64 = (vector: readonly number[]): string =>
  Buffer.from(new Uint8Array(Float32Array.from(vector).buffer)).toString('base64');

/** `POST /v1/embeddings`: the same small vector for every input. */
export function createEmbedding(request: SimulatorRequest): SimulatorResponse {
  const body = request.json();
  if (body?.input === undefined) return errorResponse('invalid', "'input' is required");
  const length = typeof body.dimensions === 'number' ? body.dimensions : VECTOR.length;
  const vector = Array.from({ length }, (_, index) => VECTOR[index % VECTOR.length] ?? 0);
  const embedding = body.encoding_format === 'base64' ? toBase64(vector) : vector;
  const data = Array.from({ length: countInputs(body.input) }, (_, index) => ({
    object: 'embedding',
    index,
    embedding,
  }));
  const tokens = promptTokens(body);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return jsonResponse(200, { object: 'list', data, model: body.model, usage });
}
