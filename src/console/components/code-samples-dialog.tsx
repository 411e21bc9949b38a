import { Code, Modal, ScrollArea, Tabs, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from './copy-button.tsx';
import { useReturnFocus } from './use-return-focus.ts';

export interface CodeSamplesDialogProps {
  readonly title: string;
  readonly hint: string;
  /** By language; the first is shown first. */
  readonly samples: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** One call as a program in several languages. */
export function CodeSamplesDialog({ title, hint, samples, onClose }: CodeSamplesDialogProps) {
  useReturnFocus();
  const { t } = useTranslation();
  const languages = Object.keys(samples);
  return (
    <Modal opened onClose={onClose} title={title} size="lg" closeButtonProps={{ 'aria-label': t('close') }}>
      <Text size="sm" c="dimmed" mb="sm">
        {hint}
      </Text>
      <Tabs defaultValue={languages[0] ?? null}>
        <Tabs.List mb="sm">
          {languages.map((language) => (
            <Tabs.Tab key={language} value={language}>
              {language}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {Object.entries(samples).map(([language, text]) => (
          <Tabs.Panel key={language} value={language} pos="relative">
            <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0 }}>
              <Code block pr={44}>
                {text}
              </Code>
            </ScrollArea.Autosize>
            <div style={{ position: 'absolute', top: 6, right: 6 }}>
              <CopyIconButton text={text} />
            </div>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Modal>
  );
}
