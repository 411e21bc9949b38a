import { Box, Center, Group, Loader, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { WIDTHS } from '../../design/tokens.ts';
import { useSiteName } from '../data/self.ts';

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

export function PageLoadingIndicator() {
  return (
    <Center h="60vh" role="status" aria-label="…">
      <Loader type="dots" />
    </Center>
  );
}

/** Shown for an empty list: what will appear here, and how to create the first item. */
export function EmptyState({
  icon,
  title,
  children,
  action,
  order = 2,
}: {
  readonly icon: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
  /** 1 where the page has no other heading. */
  readonly order?: 1 | 2;
}) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap="sm" maw={420}>
        <ThemeIcon size={56} radius="xl" variant="light" color="gray">
          {icon}
        </ThemeIcon>
        <Title order={order} ta="center">
          {title}
        </Title>
        {children === undefined ? null : (
          <Text c="dimmed" size="sm" ta="center">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Center>
  );
}
