import { Code, ScrollArea, Tabs, Text } from '@mantine/core';
import { CopyIconButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

/** Title, hint and samples of the dialog. */
export interface CodeSamplesDialogProps {
  readonly title: string;
  readonly hint: string;
  /** Code by language; the first one is selected initially. */
  readonly samples: Readonly<Record<string, string>>;
  readonly onClose: () => void;
}

/** Shows one API call as code in several languages. */
export function CodeSamplesDialog({ title, hint, samples, onClose }: CodeSamplesDialogProps) {
  const languages = Object.keys(samples);
  return (
    <Dialog onClose={onClose} title={title} size="lg">
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
    </Dialog>
  );
}
