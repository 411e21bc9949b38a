import { Box, Container, Group, Text, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

interface PageProps {
  readonly title: string;
  /** One sentence on what the page is for. */
  readonly subtitle?: ReactNode;
  readonly actions?: ReactNode;
  readonly size?: 'sm' | 'md' | 'lg' | 'xl';
  readonly children: ReactNode;
}

const WIDTH = { sm: 620, md: 860, lg: 1100, xl: 1440 } as const;

/** The frame of every page: its title, what it is for, and what can be done. */
export function Page({ title, subtitle, actions, size = 'lg', children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Reelgate`;
  }, [title]);
  return (
    <Container size={WIDTH[size]} px={0}>
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
    </Container>
  );
}
