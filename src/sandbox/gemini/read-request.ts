import type { Fields } from '../chat/untrusted-fields.ts';
import type { SimulatorRequest, SimulatorResponse } from '../define-simulator.ts';
import { MODELS } from './api-key-and-model-id-constants.ts';
import { errorResponse } from './error-responses.ts';
import { findFault } from './request-body-checks.ts';

/** Reads the body of a request to a model; one that Google would refuse comes with the error to return. */
export function readRequest(request: SimulatorRequest): { readonly body: Fields; readonly fault?: SimulatorResponse } {
  const body = request.json();
  if (!MODELS.includes(String(request.params.model))) return { body: {}, fault: errorResponse('model') };
  if (body === undefined) return { body: {}, fault: errorResponse('invalid') };
  const fault = findFault(body);
  return fault === undefined ? { body } : { body, fault: errorResponse('invalid', fault) };
}
