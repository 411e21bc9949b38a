import {
  jsonResponse,
  type SimulatorContext,
  type SimulatorRequest,
  type SimulatorResponse,
} from '../define-simulator.ts';
import { loadMedia } from '../load-and-serve-media-files.ts';
import { CREATED } from './response-fields-and-event-stream.ts';

/** `POST /v1/images/generations`: a URL by default, Base64 where `response_format` asks for it. */
export function createImages(request: SimulatorRequest, context: SimulatorContext): SimulatorResponse {
  const body = request.json();
  const length = typeof body?.n === 'number' ? body.n : 1;
  const job = context.createJob({ prompt: String(body?.prompt), model: String(body?.model), input: body });
  const image =
    body?.response_format === 'b64_json'
      ? { b64_json: loadMedia('picture.png').bytes.toString('base64') }
      : { url: context.artifactUrl(job, 'thumbnail') };
  return jsonResponse(200, { created: CREATED, data: Array.from({ length }, () => image) });
}
