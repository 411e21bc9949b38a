import { type AppError, invalidRequest } from '../../platform/app-error.ts';

/** Refuses a member of a request that its upstream's dialect cannot say and that would change the answer. */
export const notExpressibleError = (
  path: string,
  why = 'cannot be expressed for the upstream of this model',
): AppError => invalidRequest(`${path} ${why}.`, path);
