import './nonce.ts';
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { Suspense } from 'react';
import { queryClient } from './data/queries.ts';
import { styleNonce } from './nonce.ts';
import { Notices } from './parts/notices.tsx';
import { PageLoader } from './parts/page-loader.tsx';
import { router } from './router.tsx';
import { cssVariables, theme } from './theme.ts';

export function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => styleNonce}
    >
      <QueryClientProvider client={queryClient}>
        <Suspense fallback={<PageLoader />}>
          <Notices>
            <RouterProvider router={router} />
          </Notices>
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  );
}
