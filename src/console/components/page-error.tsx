import { Button, Center, Container, Loader, Stack, Text, Title } from '@mantine/core';
import { IconMovieOff } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ErrorComponentProps, Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { fetchStatus } from '../data/api-client.ts';
import { ErrorAlert } from './error-alert.tsx';
import { EmptyState } from './page.tsx';

/** Shown in place of a page that failed: one whose code could not be loaded waits for the service, others can be retried. */
export function PageError({ error, reset }: ErrorComponentProps) {
  return (
    <Container size="sm" py="xl">
      {isPageLoadError(error) ? <Reconnecting /> : <ErrorAlert error={error} retry={reset} />}
    </Container>
  );
}

const RETRY_MS = 2_000;

/** Asks the service every two seconds and loads the page anew once it responds: a new release has other files. */
function Reconnecting() {
  const { t } = useTranslation();
  const { isSuccess } = useQuery({
    queryKey: ['reconnecting'],
    queryFn: fetchStatus,
    gcTime: 0,
    refetchInterval: RETRY_MS,
  });
  useEffect(() => {
    if (isSuccess) location.reload();
  }, [isSuccess]);
  return (
    <Center py={56} role="status">
      <Stack align="center" gap="sm" maw={420}>
        <Loader type="dots" />
        <Title order={1}>{t('reconnecting')}</Title>
        <Text c="dimmed" size="sm" ta="center">
          {t('reconnectingText')}
        </Text>
      </Stack>
    </Center>
  );
}

/** The code or the texts of a page could not be loaded. */
class PageLoadError extends Error {
  constructor(cause: unknown) {
    super('the page could not be loaded', { cause });
    this.name = 'PageLoadError';
  }
}

const isPageLoadError = (error: unknown): boolean => error instanceof PageLoadError;

/** Loads the code of a page. A failure is wrapped in PageLoadError; the router would reload the page on the original error. */
export async function loadPage<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw new PageLoadError(error);
  }
}

export function NotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState
      icon={<IconMovieOff size={28} />}
      order={1}
      title={t('notFound.title')}
      action={<Button renderRoot={(props) => <Link to="/studio" {...props} />}>{t('notFound.action')}</Button>}
    >
      {t('notFound.text')}
    </EmptyState>
  );
}
