import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router';
import { readUserId } from './data/session.ts';
import { NotFound } from './parts/not-found.tsx';
import { Shell } from './parts/shell.tsx';

export const rootRoute = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

/** Parent of every page that needs a signed-in person; brings back to the page after signing in. */
export const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  component: Shell,
  beforeLoad: ({ location }) => {
    if (readUserId() === undefined)
      redirect({ to: '/sign-in' as string, search: { back: location.href } as never, throw: true });
  },
});
