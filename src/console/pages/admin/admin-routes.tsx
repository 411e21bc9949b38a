import type { AnyRoute } from '@tanstack/react-router';

/** Pages under /admin, each loaded when it is first opened. The service refuses those who may not. */
export const adminRoutes: readonly AnyRoute[] = [];
