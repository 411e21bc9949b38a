import { createRootRoute, createRoute, lazyRouteComponent, Outlet, redirect } from '@tanstack/react-router';
import { type ComponentType, type ReactNode, useState } from 'react';
import { AppLayout } from './components/app-layout.tsx';
import { loadPage, NotFound } from './components/page.tsx';
import { readUserId } from './data/browser-storage.ts';

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

/** Shows something over every page; null: nothing any more. */
export let showOverPage: (content: ReactNode) => void;

function Root() {
  const [content, show] = useState<ReactNode>();
  showOverPage = show;
  return (
    <>
      <Outlet />
      {content}
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
