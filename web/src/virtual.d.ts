/** The page in one file, as the build before made it. */
declare module 'virtual:page' {
  const page: string;
  export default page;
}
