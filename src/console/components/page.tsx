import { Box, Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { WIDTHS } from '../../design/tokens.ts';
import { useSiteName } from '../data/signed-in-user-and-site-queries.ts';

interface PageProps {
  readonly title: string;
  /** The title of the browser's tab where the heading does not name the object. */
  readonly tabTitle?: string;
  /** One sentence on what the page is for. */
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
  readonly size?: 'sm' | 'md' | 'lg' | 'xl';
  readonly children: ReactNode;
}

/** The frame of every page: its title, what it is for, and what can be done. Pages of every width begin at the same edge. */
export function Page({ title, tabTitle = title, subtitle, actions, size = 'lg', children }: PageProps) {
  const siteName = useSiteName();
  useEffect(() => {
    document.title = `${tabTitle} · ${siteName}`;
  }, [tabTitle, siteName]);
  return (
    <Box maw={WIDTHS[size]}>
      <Group justify="space-between" align="flex-start" mb="lg" gap="sm">
        <Box maw={680}>
          <Title order={1}>{title}</Title>
          {subtitle === undefined ? null : (
            <Text c="dimmed" size="sm" mt={4}>
              {subtitle}
            </Text>
          )}
        </Box>
        {actions === undefined ? null : <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Box>
  );
}
