import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense, useEffect, useState } from 'react';
import { AppLayout } from './components/app-layout.tsx';
import { loadPage, NotFound } from './components/page.tsx';
import { readUserId } from './data/browser-storage.ts';
import { setCover } from './data/session-end.ts';

/** An unknown URL keeps the menu for signed-in users. */
const UnknownAddress = () =>
  readUserId() === undefined ? (
    <main className="signed-out">
      <img src="/logo" width={40} height={40} alt="" />
      <NotFound />
    </main>
  ) : (
    <AppLayout>
      <NotFound />
    </AppLayout>
  );

const SignInAgain = lazy(() => import('./pages/sign-in/sign-in-again.tsx'));

/** The pages, and the sign-in over one whose session has ended. */
function Root() {
  const [onSignedIn, show] = useState<() => void>();
  useEffect(() => setCover((resume) => show(() => resume)), []);
  return (
    <>
      <Outlet />
      <Suspense>{onSignedIn && <SignInAgain onDone={onSignedIn} />}</Suspense>
    </>
  );
}

/** Root of the route tree. */
export const rootRoute = createRootRoute({ component: Root, notFoundComponent: UnknownAddress });

/** Parent of every page that requires a signed-in user; after sign-in the user returns to the requested page. */
export const appRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'app',
  component: AppLayout,
  beforeLoad: ({ location }) => {
    if (readUserId() === undefined) redirect({ to: '/sign-in', search: { back: location.href }, throw: true });
  },
});

/**
 * The component of a route, loaded when the page first opens. A failed load shows the page's own error, with a retry.
 */
export const lazyPage = (load: () => Promise<ComponentType>) =>
  lazyRouteComponent(async () => ({ default: await loadPage(load) }));
