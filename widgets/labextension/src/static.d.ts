/** The bundles of the widgets, built before this extension. */
declare module "*.js" {
  const widget: { render(context: object): Promise<(() => void) | undefined> };
  export default widget;
}
