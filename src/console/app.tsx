import './page-start.ts';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Suspense } from 'react';
import { PageLoadingIndicator } from './components/page.tsx';
import { ToastProvider } from './components/toasts.tsx';
import { queryClient } from './data/api-client.ts';
import { resolveCssVariables, theme } from './mantine-theme.ts';
import { cspNonce } from './page-start.ts';
import { router } from './router.tsx';

/** The router with its providers: theme, queries and toasts. */
export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={resolveCssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => cspNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Suspense fallback={<PageLoadingIndicator />}>
          <ToastProvider>
            <RouterProvider router={router} />
          </ToastProvider>
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  );
}
